"""The file of other columns, as it comes back and as a stranger may have made it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumns
from subtaxa.errors import InputError
from subtaxa.runs import column_files, layout

KINDS = {"columns": {"channel": "category", "id": "number"}}
KEPT = KeptColumns.of({"channel": ["web", None, "=1+1"], "id": [1, 2, 3]}, 3)


def test_columns_come_back(tmp_path: Path) -> None:
    column_files.write_columns(tmp_path / layout.COLUMNS, KEPT)
    found = column_files.read_columns(tmp_path, KINDS, 3)
    assert found.kinds == KINDS["columns"]
    assert [column.strings() for column in found] == [["web", None, "=1+1"], ["1", "2", "3"]]


def test_several_row_groups_become_one_column(tmp_path: Path) -> None:
    table = pa.table({"channel": ["web", "phone", "web"], "id": ["1", "2", "3"]})
    pq.write_table(table, tmp_path / layout.COLUMNS, row_group_size=1, store_schema=False)
    found = column_files.read_columns(tmp_path, KINDS, 3)["channel"]
    assert found.distinct == ["web", "phone"]
    assert found.codes.tolist() == [0, 1, 0]


def test_a_run_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert column_files.read_columns(tmp_path, {}, 3) is NO_COLUMNS


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"channel": ["web"], "id": ["1"]}),
        pa.table({"channel": ["web"] * 3}),
        pa.table({"id": ["1"] * 3, "channel": ["web"] * 3}),
        pa.table({"channel": ["web"] * 3, "id": [1, 2, 3]}),
        pa.table({"channel": [b"\xff"] * 3, "id": ["1"] * 3}),
    ],
    ids=["too few rows", "a column missing", "other order", "numbers", "bytes"],
)
def test_a_file_that_does_not_belong_to_the_run_is_refused(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / layout.COLUMNS, store_schema=False)
    with pytest.raises(InputError, match="is damaged"):
        column_files.read_columns(tmp_path, KINDS, 3)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    column_files.write_columns(tmp_path / layout.COLUMNS, KEPT)
    with pytest.raises(InputError, match="does not belong to this run"):
        column_files.read_columns(tmp_path, {"columns": {"channel": "category", "id": "script"}}, 3)


def test_a_file_beyond_the_free_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column_files.write_columns(tmp_path / layout.COLUMNS, KEPT)
    monkeypatch.setattr(column_files, "available", lambda: 10)
    with pytest.raises(InputError, match="free memory"):
        column_files.read_columns(tmp_path, KINDS, 3)


def test_a_stranger_may_call_any_value_a_date_or_a_number() -> None:
    column = KEPT["channel"]
    assert all(str(value) == "NaT" for value in column.dates())
    assert all(value != value for value in column.numbers().tolist())


def test_a_column_with_a_name_of_ours_is_renamed_in_the_assignments() -> None:
    kept = KeptColumns.of({"text": ["a"], "input_text": ["b"], "channel": ["c"]}, 1)
    assert column_files.shown_columns(kept) == {"input_input_text": ["a"], "input_text": ["b"], "channel": ["c"]}
