"""The other columns of a table: which are kept, what they are, and that they stay with their texts."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.data.column_kinds import kind_of
from subtaxa.data.kept_columns import KeptColumns, read_columns
from subtaxa.data.readers import open_file
from subtaxa.data.tables import csv_text, parquet_bytes
from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runs.column_files import read_columns as columns_of_run
from subtaxa.runs.column_files import shown_columns, write_columns

TEXTS, LABELS, _ = planted_corpus(per_topic=20, seed=1)
N = len(TEXTS)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5", "3e4"], "number"),
        (["007", "012"], "category"),
        (["2026-01-31", "2026-02-01T10:00:00Z"], "date"),
        (["31.01.2026", "01.02.2026"], "date"),
        (["01/31/2026", "02/01/2026"], "date"),
        (["01/02/2026", "03/04/2026"], "category"),  # day or month first: nobody can tell
        (["web", "phone"], "category"),
        (["1", "n/a"], "category"),
        ([f"note {i}" for i in range(50)], "text"),
        (["long " * 50], "text"),
        ([], "category"),
    ],
)
def test_kinds_are_recognised(values: list[str], kind: str) -> None:
    assert kind_of(values, 50) == kind


def test_typed_values_keep_what_is_missing() -> None:
    kept = KeptColumns.of({"n": [1, None, 2.5], "when": ["2026-01-01T01:00:00+01:00", "", "2026-01-02"]}, 3)
    assert kept.kinds == {"n": "number", "when": "date"}
    np.testing.assert_array_equal(kept["n"].numbers(), [1, np.nan, 2.5])
    expected = np.array(["2026-01-01", "NaT", "2026-01-02"], "datetime64[us]")
    np.testing.assert_array_equal(kept["when"].dates(), expected)
    assert kept["when"].codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_rows_that_are_skipped_shift_nothing(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"text": list("abcd"), "id": [10, 11, 12, 13], "channel": ["web", "", "web", "phone"]})
    path = tmp_path / f"in.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
        path.write_text(path.read_text().replace("b,11,", "b"))  # a ragged row
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    kept = read_columns(open_file(path), (1, 3, 4), used=("text",))
    assert {column.name: column.strings() for column in kept} == {
        "id": ["10", "12", "13"],
        "channel": ["web", "web", "phone"],
    }
    assert not read_columns(open_file(path), (1, 3, 4), [], ("text",))


def test_two_columns_of_one_name_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("text,id,id\nhello,1,2\n")
    kept = read_columns(open_file(path), (1,), used=("text",))
    assert [(column.name, column.strings()) for column in kept] == [("id", ["1"]), ("id_2", ["2"])]


HOSTILE = (
    "\ud800x",
    "a\0b",
    "",
    " ",
    "=1+1",
    "'=1",
    "row",
    "input_row",
    "<b>",
    "\u202e",
    "new\nline",
    "__proto__",
    "x" * 9999,
)


def test_any_name_of_a_column_can_be_kept_and_written(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"text": "hello", **dict.fromkeys(HOSTILE, "=1")}) + "\n")
    kept = read_columns(open_file(path), [1], used=["text"])
    assert list(kept.kinds) == ["\ufffdx", "a b", *HOSTILE[2:]]
    assert list(KeptColumns.of({name: ["=1"] for name in HOSTILE}, 1).kinds) == list(kept.kinds)
    write_columns(tmp_path / "columns.parquet", kept)
    found = shown_columns(columns_of_run(tmp_path, {"columns": kept.kinds}, 1))
    assert len(found) == len(HOSTILE)
    assert not found.keys() & {"row", "text", "category"}
    assert parquet_bytes(found)
    assert next(csv.reader(csv_text(found).splitlines()))[:5] == [*list(found)[:4], "'=1+1"]


def test_more_texts_may_have_other_columns() -> None:
    kept = KeptColumns.of({"a": [1, 2], "b": ["x", "y"]}, 2).extended(2, KeptColumns.of({"b": ["z"], "c": [5]}, 1), 1)
    assert [column.strings() for column in kept] == [["1", "2", None], ["x", "y", "z"], [None, None, "5"]]


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match="'a' has 1 values for 2 texts"):
        KeptColumns.of({"a": [1]}, 2)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("columns") / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = ([t, label, "2026-01-05", "=1+1", i] for i, (t, label) in enumerate(zip(TEXTS, LABELS, strict=True)))
        csv.writer(out).writerows([["text", "label", "date", "category", "id"], *rows])
    return path


@pytest.fixture(scope="module")
def saved(table: Path, quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("columns") / "run"
    settings = [part for name, value in quick.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    asked = ["--label", "label", "--categories", "6", "--quiet"]
    assert main(["discover", str(table), "--out", str(run), *asked, *settings]) == 0
    return run


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def test_discover_keeps_all_columns_and_update_adds_to_them(run: Path, table: Path, tmp_path: Path) -> None:
    model = Discovery.load(run)
    assert model.state_.columns.kinds == {"date": "date", "category": "category", "id": "number"}
    assert model.columns_["id"].tolist() == list(range(N))
    rows = list(csv.DictReader((run / "assignments.csv").open(encoding="utf-8")))
    assert [row["id"] for row in rows] == list(map(str, range(N)))
    assert {row["input_category"] for row in rows} == {"'=1+1"}
    more = tmp_path / "more.csv"
    more.write_text(f"text,id,note\n{TEXTS[0]},900,\n,901,\n{TEXTS[1]},902,seen\n")
    assert main(["rename", str(run), "0", "Renamed", "--quiet"]) == 0
    assert main(["update", str(run), str(more), "--keep", "id", "--quiet"]) == 0
    again = Discovery.load(run).columns_
    assert list(again) == ["date", "category", "id"]
    assert again["id"].tolist() == [*range(N), 900, 902]
    assert again["date"].isna().tolist() == [False] * N + [True] * 2


def test_a_wrong_name_is_refused_with_a_suggestion(
    run: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["discover", str(table), "--out", str(tmp_path / "new")],
        ["assign", str(run), str(table), "--out", str(tmp_path / "out.csv")],
        ["update", str(run), str(table)],
    ):
        assert "did you mean 'date'?" in refused(capsys, [*command, "--keep", "dat", "--quiet"])


@pytest.mark.parametrize(
    ("keep", "names"), [("none", []), ("id", ["id"]), ("all", ["label", "date", "category", "id"])]
)
def test_assign_keeps_what_is_asked_for(run: Path, table: Path, tmp_path: Path, keep: str, names: list[str]) -> None:
    out = tmp_path / "out.csv"
    assert main(["assign", str(run), str(table), "--out", str(out), "--keep", keep, "--quiet"]) == 0
    with out.open(encoding="utf-8") as file:
        assert next(csv.reader(file))[:-5] == ["text", *names]


def test_a_damaged_or_missing_file_is_refused(run: Path) -> None:
    path = run / layout.COLUMNS
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"columns\.parquet' is damaged"):
        Discovery.load(run)
    path.unlink()
    with pytest.raises(InputError, match=r"columns\.parquet' is missing"):
        Discovery.load(run)


def test_a_run_without_other_columns_has_no_such_file(quick: dict[str, object], tmp_path: Path) -> None:
    model = Discovery(6, **quick).fit(TEXTS, LABELS, columns={"id": range(N)})  # type: ignore[arg-type]
    assert model.columns_["id"].tolist() == list(range(N))
    run = model.fit(TEXTS, LABELS).save(tmp_path / "run")
    assert not (run / layout.COLUMNS).exists()
    assert Discovery.load(run).columns_.empty
