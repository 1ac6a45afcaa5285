"""`subtaxa compare`: what a user types and sees."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.run_files import CATEGORIES, write_run

from subtaxa.cli import compare
from subtaxa.cli.main import main
from subtaxa.data.tables import parquet_bytes
from subtaxa.runs import layout, reading
from subtaxa.runtime.json_files import json_text

OLD_RUN = Path(__file__).parents[1] / "runs" / "run_0_1_0"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Two runs of the same three texts; the second is a Parquet file and its first two categories are one."""
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b")
    rows = reading.read_assignments(b, ("row", "text", "label", "category_id"))
    (b / "assignments.csv").unlink()
    (b / "assignments.parquet").write_bytes(parquet_bytes(rows | {"category_id": [0, 0, 2]}))
    categories = [row for row in CATEGORIES.to_dict() if row["id"] != 1]
    categories[0] |= {"size": 2, "name": "\x1b[31mmoney"}
    (b / layout.TAXONOMY).write_text(json_text(categories))
    return str(a), str(b)


def test_the_table_shows_each_relation(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs]) == 0
    printed = capsys.readouterr().out
    head, agreement, counts, _, titles, *rows = printed.splitlines()
    assert head.startswith("3 texts in both runs, 0 only in ")
    assert agreement.startswith("agreement: ARI 0.000, NMI 0.7")
    assert counts == "1 same, 0 split, 1 merged, 0 regrouped, 0 new, 0 gone"
    assert titles.split()[:3] == ["label", "category", "in"]
    assert [line.split() for line in rows] == [
        ["money", "merged", "refund", "(1)", "1", "�[31mmoney", "(2)"],
        ["charged", "(1)", "1", "�[31mmoney", "(2)"],
        ["post", "same", "parcel", "(1)", "1", "parcel", "(1)"],
    ]


def test_json_has_ids_and_numbers(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == {"both": 3, "only_a": 0, "only_b": 0}
    merged, same = found["categories"]
    assert merged["relation"] == "merged"
    assert [c["id"] for c in merged["a"]] == [0, 1]
    assert merged["shared"] == [{"a": 1, "b": 0, "texts": 1}, {"a": 0, "b": 0, "texts": 1}]
    assert same["relation"] == "same"


def test_a_run_of_an_earlier_version_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = str(shutil.copytree(OLD_RUN, tmp_path / "old"))
    assert main(["compare", old, old]) == 0
    assert "ARI 1.000, NMI 1.000" in capsys.readouterr().out


def test_what_cannot_be_compared(runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = str(shutil.copytree(OLD_RUN, tmp_path / "old"))
    assert "no text with the same label in common" in refused(capsys, ["compare", runs[0], old])
    assert "there is no folder" in refused(capsys, ["compare", runs[0], str(tmp_path / "none")])


def test_the_page_is_written_whole_and_only_on_request_again(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["compare", *runs, "--out", str(page)]) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    assert 'From <bdi dir="auto">a</bdi> to <bdi dir="auto">b</bdi>' in page.read_text("utf-8")
    assert "add --overwrite" in refused(capsys, ["compare", *runs, "--out", str(page)])
    assert main(["compare", *runs, "--out", str(page), "--overwrite"]) == 0


def test_runs_with_the_same_name_are_told_apart() -> None:
    assert compare._titles("one/run", "two/run") == ("one/run", "two/run")
    assert compare._titles("run", "./run") == ("run", "run")
