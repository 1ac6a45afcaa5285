"""The README is executed and compared with the records, so that it cannot drift from the code."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from statistics import mean

import pytest
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main, parser
from subtaxa.encoders import loading
from subtaxa.runs import reading

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
GUIDES = {path: path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))}


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with the files that the README mentions."""
    texts, labels, _ = planted_corpus(8)
    for name in ("tickets.csv", "new.csv", "more.csv"):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("message", "department"), *zip(texts, labels, strict=True)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def packaged_is_tiny(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tiny encoder stand in for the packaged one. The tests of the wheel and the notebook run the real one."""
    monkeypatch.setattr(loading, "packaged_folder", lambda: Path(tiny_encoder))


def commands(text: str) -> list[list[str]]:
    """Return the arguments of every `subtaxa` command in the code blocks of a page."""
    blocks = re.findall(r"^```(?:\w*)\n(.*?)^```", text, re.DOTALL | re.M)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("subtaxa ")]
    return [shlex.split(re.sub(r"\[.*?\]", "", line), comments=True)[1:] for line in lines]


def test_it_is_short_and_begins_with_what_why_and_how() -> None:
    assert len(README.splitlines()) <= 100
    first_screen = "\n".join(README.splitlines()[:32])
    for part in ("docs/images/overview.png", "make demo", "make test", "categories in 8 labels"):
        assert part in first_screen


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(targets) > 8
    for target in targets:
        assert (ROOT / target).exists(), target


@pytest.mark.usefixtures("packaged_is_tiny")
def test_the_python_example_runs(tickets: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 8
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    assert (tickets / "run" / "report.html").exists()


@pytest.mark.usefixtures("packaged_is_tiny")
def test_the_commands_run(tickets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = commands(README)
    assert [line[0] for line in lines] == ["discover", "ask", "rename", "recut", "assign", "update"]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\ns\nu\nq\n"))
    for line in lines:
        assert main(line) == 0
    assert "categories in 3 labels" in capsys.readouterr().out
    assert (tickets / "assigned.csv").exists()


@pytest.mark.usefixtures("packaged_is_tiny")
def test_the_edits_of_the_tutorial_run(tickets: Path) -> None:
    """The tutorial's edits, with the file that the report of this run would download."""
    tutorial = GUIDES[ROOT / "docs" / "tutorials" / "ticket-export.md"]
    lines = commands(tutorial)
    assert [line[0] for line in lines] == ["discover", "info", "edit", "merge", "split", "rename", "undo", "assign"]
    for line in lines:
        if line[0] == "edit":
            model = Discovery.load(tickets / "run")
            known = reading.read_run(tickets / "run")["data"]["fingerprint"]
            rename = {"do": "rename", "category": model.taxonomy_[0].id, "name": "From the page"}
            content = {"subtaxa corrections": 1, "run": known, "edits": len(model.edits_), "corrections": [rename]}
            (tickets / "corrections.json").write_text(json.dumps(content), encoding="utf-8")
        assert main(line) == 0


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_command_of_the_documentation_is_spelt_correctly(page: Path) -> None:
    for line in commands(GUIDES[page]):
        parser().parse_args(line)


@pytest.mark.usefixtures("packaged_is_tiny")
def test_the_bench_commands_run_on_a_users_file(tickets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(zip(*planted_corpus(8), strict=True))
    with (tickets / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "topic", "subtopic"), *rows])
    bench = commands(GUIDES[ROOT / "docs" / "how-to" / "compare-methods.md"])
    (own,) = [line for line in bench if "mine.csv" in line]
    (table,) = [line for line in bench if line[1:3] == ["table", "2"]]
    assert main(own) == 0
    assert main(table) == 0
    assert re.search(r"\| subtaxa +\| +1 \|", capsys.readouterr().out)
    assert (tickets / "research" / "paper" / "table2.tex").exists()


def compared() -> dict[str, dict[str, dict[str, str]]]:
    """Return the rows that `subtaxa bench compare` of 0.1 printed for the default method, by data set and measure."""
    with (ROOT / "research" / "paper" / "0.1" / "compare.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["row"] == "subtaxa"]
    return {name: {r["measure"]: r for r in rows if r["dataset"] == name} for name in {r["dataset"] for r in rows}}


def scores(rows: dict[str, dict[str, str]], column: str) -> str:
    """Return ACC, ARI and NMI as the tables show them."""
    return " ".join(f"{float(rows[measure][column]):.1f}" for measure in ("ACC", "ARI", "NMI"))


def measured(protocol: str) -> dict[str, str]:
    """The mean scores of the present default in each data set, as the pages print them."""
    lines = (ROOT / "research" / "measurements" / "protocols.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    found = {}
    for dataset, name in (("clinc", "CLINC"), ("hwu64", "HWU64"), ("clinc-lt", "CLINC-LT"), ("wos-part", "WOS-part")):
        own = [record["scores"][protocol] for record in records if record["dataset"] == dataset]
        found[name] = " ".join(f"{mean(column):.1f}" for column in zip(*own, strict=True))
    return found


def test_the_readmes_scores_are_measured_and_published_ones() -> None:
    rows = compared()
    lines = [line for line in README.splitlines() if line.startswith("| ") and "published" not in line]
    assert len(lines) == 2
    for line in lines:
        _, name, kmeans, cut, *published, _ = (cell.strip() for cell in line.split("|"))
        assert (kmeans, cut) == (measured("paper")[name], measured("discover")[name])
        for cell, method in zip(published, ("down", "dna"), strict=True):
            exact = [float(rows[name][measure][f"published_{method}"]) for measure in ("ACC", "ARI", "NMI")]
            assert [float(value) for value in cell.split()] == pytest.approx(exact, abs=0.0501)


def test_the_benchmark_pages_scores_are_those_of_the_records() -> None:
    page = GUIDES[ROOT / "docs" / "explanation" / "benchmarks.md"]
    for name, rows in compared().items():
        (new, old) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
        for protocol in ("paper", "best-inertia", "centroid", "discover"):
            assert measured(protocol)[name] in new, (name, protocol)
            if rows["ACC"][protocol]:
                assert scores(rows, protocol) in old, (name, protocol)
