"""The README is run, so that it cannot drift from the code."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main, parser
from subtaxa.runs import layout

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README speaks of."""
    texts, labels, _ = planted_corpus(8)
    for name in ("tickets.csv", "new.csv", "more.csv"):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("message", "department"), *zip(texts, labels, strict=True)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example_runs(tickets: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    assert (tickets / "run" / "report.html").exists()


def commands() -> list[list[str]]:
    """Every command of the README, without its program."""
    lines = [shlex.split(line, comments=True) for line in README.splitlines() if line.startswith("subtaxa ")]
    return [line[1:] for line in lines]


def report_gives_corrections(tickets: Path) -> None:
    """The file that the page of the run gives for one correction."""
    model = Discovery.load(tickets / "run")
    known = layout.read_run(tickets / "run")["data"]["fingerprint"]
    rename = {"do": "rename", "category": model.taxonomy_[0].id, "name": "From the page"}
    content = {"subtaxa corrections": 1, "run": known, "edits": len(model.edits_), "corrections": [rename]}
    (tickets / "corrections.json").write_text(json.dumps(content), encoding="utf-8")


def test_the_commands_run(tickets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = [command for command in commands() if command[0] != "bench"]
    assert [command[0] for command in first] == [
        *("discover", "assign", "info", "update"),
        *("merge", "split", "rename", "undo", "edit"),
    ]
    for command in first:
        if command[0] == "edit":
            report_gives_corrections(tickets)
        assert main(command) == 0
    assert "categories in 3 labels" in capsys.readouterr().out
    assert (tickets / "assigned.csv").exists()


def test_the_bench_commands_run_on_a_file_of_ones_own(tickets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(zip(*planted_corpus(8), strict=True))
    with (tickets / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "topic", "subtopic"), *rows])
    bench = [command for command in commands() if command[0] == "bench"]
    for command in bench:
        parser().parse_args(command)  # those that need the authors' data, or runs on it, are at least spelt rightly
    (own,) = [command for command in bench if "mine.csv" in command]
    (table,) = [command for command in bench if command[1:3] == ["table", "2"]]
    assert main(own) == 0
    assert main(table) == 0
    assert re.search(r"\| subtaxa +\| +1 \|", capsys.readouterr().out)
    assert (tickets / "research" / "paper" / "table2.tex").exists()


def test_the_scores_are_those_of_the_comparison() -> None:
    """The table at the top shows what `subtaxa bench compare` wrote for the default method."""
    with (ROOT / "research" / "paper" / "compare.csv").open(newline="") as file:
        ours = [row for row in csv.DictReader(file) if row["row"] == "subtaxa"]
    names = dict.fromkeys(row["dataset"] for row in ours)
    assert names
    for name in names:
        found = {row["measure"]: row for row in ours if row["dataset"] == name}
        (line,) = [line for line in README.splitlines() if line.startswith(f"| {name} |")]
        for protocol in ("paper", "best-inertia", "centroid", "discover"):
            if not found["ACC"][protocol]:  # records of an earlier version
                continue
            assert " ".join(f"{float(found[m][protocol]):.1f}" for m in ("ACC", "ARI", "NMI")) in line
