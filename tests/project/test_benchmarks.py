"""Every program in benchmarks/ can be imported and prints its help. None of them is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import forks

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Runs in a process of its own, because both folders have modules that tests must not import by accident.
SHOW_HELP = """
import contextlib, importlib, io, json, sys
folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
shown = {}
for name in names:
    module, out = importlib.import_module(name), io.StringIO()
    sys.argv = [name, "--help"]
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        getattr(module, "main", lambda: None)()
    shown[name] = out.getvalue()
print(json.dumps(shown))
"""


@pytest.mark.parametrize("folder", ["quality", "speed"])
def test_every_program_can_be_imported_and_prints_its_help(folder):
    files = sorted((BENCHMARKS / folder).glob("*.py"))
    names = [file.stem for file in files]
    done = forks.run(SHOW_HELP, str(BENCHMARKS / folder), *names, work=forks.python)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    for file in files:
        is_program = "__main__" in file.read_text("utf-8")
        assert shown[file.stem].startswith("usage:") == is_program, file


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*/*.py")), ids=lambda file: file.stem)
def test_docstring_names_the_command_that_runs_the_program(file):
    source = file.read_text("utf-8")
    if "__main__" in source:
        assert f"python benchmarks/{file.parent.name}/{file.name}" in source


def test_make_bench_runs_a_program_that_exists():
    makefile = (BENCHMARKS.parent / "Makefile").read_text("utf-8")
    (program,) = (word for word in makefile.split() if word.startswith("benchmarks/"))
    assert (BENCHMARKS.parent / program).is_file()
