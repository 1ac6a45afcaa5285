"""`make lint` holds the directions between the rooms: an import against them fails and is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the sources and the contracts that may be changed."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter as `make lint` does, on the sources of the copy."""
    program = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "COLUMNS": "200"}
    call = [str(program), "--no-cache"]
    return subprocess.run(call, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def test_make_lint_runs_it() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    target = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.M)
    assert target is not None
    assert ".venv/bin/lint-imports" in target[1]


def test_the_sources_keep_the_contracts(checkout: Path) -> None:
    done = lint_imports(checkout)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [("clustering.filters", "report.page"), ("training.losses", "discovery"), ("engines.spark", "bench.scoring")],
)
def test_an_import_against_the_direction_fails(checkout: Path, importer: str, imported: str) -> None:
    path = checkout / "src" / "subtaxa" / Path(*importer.split(".")).with_suffix(".py")
    path.write_text(path.read_text("utf-8") + f"\nimport subtaxa.{imported}\n", encoding="utf-8")
    done = lint_imports(checkout)
    assert done.returncode == 1
    assert re.search(rf"subtaxa\.{importer} -> subtaxa\.{imported} ", done.stdout), done.stdout
