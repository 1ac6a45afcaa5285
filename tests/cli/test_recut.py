"""`subtaxa recut`: what a user types and sees."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery

TEXTS, LABELS, _ = planted_corpus(20)
OLD_RUN = Path(__file__).parents[1] / "runs" / "run_0_1_0"


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recut") / "run"
    return Discovery(6, **{**quick, "epochs": 1}).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_total_is_printed_and_written_to_every_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recut", str(run), "--categories", "9", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("recut: 6 to 9 categories\n")
    categories = json.loads((run / "taxonomy.json").read_text("utf-8"))
    assert len(categories) == 9
    with (run / "assignments.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["category_id"] for row in rows} == {str(category["id"]) for category in categories}
    (edit,) = [json.loads(line) for line in (run / "edits.jsonl").read_text("utf-8").splitlines()]
    assert edit["do"] == "recut"
    assert {group["id"] for group in edit["groups"]} == {category["id"] for category in categories}


def test_numbers_for_some_labels_print_only_those(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recut", str(run), "--categories", "money=5", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("recut: 'money' 5\n")
    assert "money  (60 texts, 5 categories)" in printed
    assert "access" not in printed


def test_finer_coarser_and_undo(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = json.loads((run / "taxonomy.json").read_text("utf-8"))
    assert main(["recut", str(run), "--finer", "--quiet"]) == 0
    assert main(["recut", str(run), "--coarser", "--quiet"]) == 0
    assert main(["undo", str(run), "--quiet"]) == 0
    assert main(["undo", str(run), "--quiet"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "recut" in line]
    assert told == [
        "recut: 6 to 8 categories",
        "recut: 8 to 6 categories",
        "undo: recut: 8 to 6 categories",
        "undo: recut: 6 to 8 categories",
    ]
    assert json.loads((run / "taxonomy.json").read_text("utf-8")) == first


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--categories", "1000"], "categories is 1000: the tree of this run has 3 to 37 categories"),
        (["--categories", "2"], "categories is 2: the tree of this run has 3 to 37 categories"),
        (["--categories", "0"], "categories is 0: "),
        (
            ["--categories", "money=99"],
            "categories asks for 99 categories of 'money': the tree of this run has 1 to 15",
        ),
        (["--categories", "mony=3"], "did you mean 'money'?"),
        (["--categories", "auto"], "categories is 'auto', but a recut estimates nothing"),
        (["--categories", "many"], "'many'"),
        (["--categories", ""], "--categories"),
        ([], "one of the arguments --categories --finer --coarser is required"),
        (["--finer", "--coarser"], "not allowed with argument"),
        (["--finer", "--categories", "6"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    run: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    before = content(run)
    assert sentence in refused(capsys, ["recut", str(run), *options])
    assert content(run) == before


def test_a_run_of_an_earlier_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path(shutil.copytree(OLD_RUN, tmp_path / "run"))
    error = refused(capsys, ["recut", str(run), "--categories", "5", "--quiet"])
    assert (
        "this run has no tree of categories, because an earlier version of subtaxa made it: run discover again" in error
    )
