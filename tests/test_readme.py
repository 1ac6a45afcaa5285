"""The README is run, so that it cannot drift from the code."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import planted_corpus

from subtaxa.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README speaks of."""
    texts, labels, _ = planted_corpus(12)
    for name in ("tickets.csv", "new.csv"):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("message", "department"), *zip(texts, labels, strict=True)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example_runs(tickets: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    assert (tickets / "run" / "report.html").exists()


def test_the_commands_run(tickets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [shlex.split(line, comments=True) for line in README.splitlines() if line.startswith("subtaxa ")]
    assert [command[1] for command in commands] == ["discover", "assign", "info"]
    for command in commands:
        assert main(command[1:]) == 0
    assert "categories in 3 labels" in capsys.readouterr().out
    assert (tickets / "assigned.csv").exists()


def test_the_scores_are_those_of_the_record() -> None:
    record = json.loads((ROOT / "results" / "discover_hwu64.jsonl").read_text().splitlines()[0])
    assert f"| {record['acc']:.1f} | {record['ari']:.1f} | {record['nmi']:.1f} |" in README
