"""A user's method in one file: the example in CONTRIBUTING, and files with mistakes."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import forks
from helpers.corpus import planted_corpus

from subtaxa import methods
from subtaxa.cli.main import main
from subtaxa.errors import SettingError

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
SECTION = GUIDE.split("## A method of your own\n")[1].split("\n## ")[0]
(BLOCK,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
(NAME,) = re.findall(r'VARIANTS = \{"(.+?)"', BLOCK)


def run(folder: Path, *arguments: str) -> str:
    env = {**os.environ, "SUBTAXA_METHODS": folder.name}  # A relative path, as in the guide.
    done = forks.run(*arguments, work=forks.fresh_command, env=env, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_method_of_the_guide_is_listed(tmp_path: Path) -> None:
    """In a process of its own, because the variable is read at the start."""
    folder = tmp_path / "my_methods"
    folder.mkdir()
    (folder / "my_method.py").write_text(BLOCK, encoding="utf-8")
    (folder / "helpers.py").write_text("ANSWER = 42\n")  # A file without a method is allowed.
    (listed,) = [line for line in run(folder, "methods").splitlines() if line.startswith(NAME)]
    assert "The mean of a text's five nearest neighbours" in listed


def test_the_method_of_the_guide_runs(
    folder: Path, tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my_method.py").write_text(BLOCK, encoding="utf-8")
    source = tmp_path / "planted.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "coarse", "fine"), *zip(*planted_corpus(15), strict=True)])
    call = ["bench", "run", "--dataset", str(source), "--label", "coarse", "--fine", "fine", "--method", NAME]
    settings = ["--encoder", tiny_encoder, "--epochs", "4", "--learning-rate", "1e-3"]
    assert main([*call, *settings, "--runs", str(tmp_path / "runs"), "--quiet"]) == 0
    assert f"planted.csv {NAME} " in capsys.readouterr().out
    (path,) = (tmp_path / "runs").rglob("record.json")
    record = json.loads(path.read_text())
    assert record["settings"]["temperature"] == 0.1  # The method's own default.
    assert [row["epoch"] for row in record["history"]] == [0, 1, 2, 3, 4]
    assert record["history"][4]["contrast"] < record["history"][1]["contrast"]
    assert record["history"][1]["count_knn"] == 5
    assert set(record["scores"]) == {"paper", "best-inertia", "centroid", "discover"}


def test_the_guide_is_short_and_shows_the_commands() -> None:
    assert len(BLOCK.splitlines()) <= 40
    commands = [line for line in SECTION.splitlines() if line.startswith("SUBTAXA_METHODS=")]
    assert [line.split()[1:3] for line in commands] == [["subtaxa", "methods"], ["subtaxa", "bench"]]
    assert f"--method {NAME}" in commands[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A plug-in folder for this process, as if the variable had been set at its start."""
    monkeypatch.setattr(methods, "PLUGINS", [str(tmp_path)])
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    before = set(sys.modules)
    methods.variants.cache_clear()
    importlib.invalidate_caches()
    yield tmp_path
    methods.variants.cache_clear()
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import a_library_that_is_not_there\n", "No module named 'a_library_that_is_not_there'"),
        ("raise RuntimeError('two\\nlines')\n", "two lines"),
        ("VARIANTS = 5\n", "TypeError"),
        ("VARIANTS = {'dna': None}\n", "a second 'dna': give it another name"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    folder: Path, content: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "mine.py"
    path.write_text(content)
    assert main(["methods"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(path) in error
    assert reason in error


def test_a_file_with_one_of_our_names_is_refused_and_not_passed_over(folder: Path) -> None:
    (folder / "dna.py").write_text(BLOCK)
    with pytest.raises(SettingError, match="has the name of another: rename it"):
        methods.variants()


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    methods.__path__[-1] = str(folder / "nowhere")
    with pytest.raises(SettingError, match=r"SUBTAXA_METHODS names .*nowhere', which is not a folder"):
        methods.variants()


def test_a_class_without_a_word_on_it_is_listed_all_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(
        "from subtaxa.methods.base import Method\nclass A(Method):\n    pass\nVARIANTS = {'silent': A}\n"
    )
    assert main(["methods"]) == 0
    assert "\nsilent" in capsys.readouterr().out


def test_a_plugin_with_the_old_name_of_defaults_works_with_a_warning(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from subtaxa.methods.dna import DNA\n"
        "class Mine(DNA):\n    own = DNA.own | {'temperature': 0.3}\n"
        "VARIANTS = {'mine': Mine}\n"
    )
    with pytest.warns(
        DeprecationWarning, match=r"^Mine\.own is now Mine\.defaults; the old name will be removed in 0\.3\.0$"
    ):
        methods.variants()
    settings = methods.settings_for("default", method="mine")
    assert (settings.temperature, settings.momentum) == (0.3, 0.99)
    assert methods.method_class("mine").own == methods.method_class("mine").defaults


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with one method, as pip would leave it."""
    facts = tmp_path / "other_methods-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: other-methods\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[subtaxa.methods]\nfrom-a-package = other_methods:Other\n")
    (tmp_path / "other_methods.py").write_text(
        "from subtaxa.methods.dna import DNA\nclass Other(DNA):\n    'A method of another package.'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    methods.variants.cache_clear()
    yield tmp_path
    methods.variants.cache_clear()
    sys.modules.pop("other_methods", None)


def test_a_method_of_an_installed_package_is_found(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert methods.method_class("from-a-package").__module__ == "other_methods"
    assert main(["methods"]) == 0
    assert "A method of another package." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("broken = no_such_module:Other", "cannot import the method 'broken' of the package 'other-methods' (Module"),
        ("number = sys:maxsize", "not a subclass of Method"),
        ("dna = other_methods:Other", "the package 'other-methods' has a second method 'dna'"),
    ],
)
def test_a_package_whose_method_cannot_be_used_is_named(package: Path, entry: str, reason: str) -> None:
    (package / "other_methods-1.0.dist-info" / "entry_points.txt").write_text(f"[subtaxa.methods]\n{entry}\n")
    with pytest.raises(SettingError, match=re.escape(reason)):
        methods.variants()
