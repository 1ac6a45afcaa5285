"""The table writer: every column type is kept or written readably, and no column of the user is replaced."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from subtaxa.data.columns import unused_names
from subtaxa.data.tables import (
    ASSIGNMENT_COLUMNS,
    RUN_ASSIGNMENT_COLUMNS,
    SPARK_SCHEMA,
    WRITABLE,
    Table,
    check_writable,
    write_tables,
)
from subtaxa.errors import InputError

DAY, SECOND = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)
# For each Parquet type: the type, a value, and how CSV and JSON show the value.
TYPES: dict[str, tuple[pa.DataType, Any, str, Any]] = {
    "int64": (pa.int64(), 2**60 + 1, str(2**60 + 1), 2**60 + 1),
    "double": (pa.float64(), 0.1, "0.1", 0.1),
    "float": (pa.float32(), 0.1, "0.1", 0.1),
    "bool": (pa.bool_(), True, "True", True),
    "string": (pa.string(), "x;=1", '"x;=1"', "x;=1"),
    "date": (pa.date32(), DAY, "2024-02-29", "2024-02-29"),
    "timestamp": (pa.timestamp("ms"), SECOND, "2024-02-29 12:30:00.000", "2024-02-29 12:30:00.000"),
    "nanoseconds": (pa.timestamp("ns"), 1, "1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000001"),
    "decimal": (pa.decimal128(5, 2), decimal.Decimal("-1.50"), "-1.50", "-1.50"),
    "list": (pa.list_(pa.int64()), [1, 2], '"[1, 2]"', [1, 2]),
    "struct": (pa.struct({"a": pa.float64()}), {"a": 1.5}, "{'a': 1.5}", {"a": 1.5}),
    "map": (pa.map_(pa.string(), pa.int64()), [("a", 1)], "\"[('a', 1)]\"", [["a", 1]]),
    "duration": (pa.duration("ns"), 1_000_000_001, "", None),
    "time of day": (pa.time64("ns"), 1, "", None),
    "category": (pa.dictionary(pa.int32(), pa.string()), "x", "x", "x"),
    "day no calendar has": (pa.date32(), 2**30, "", None),
}


def written(tables: list[Table], ending: str) -> bytes:
    out = io.BytesIO()
    write_tables(tables, out, ending)
    return out.getvalue()


def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)


@pytest.mark.parametrize("name", TYPES)
def test_types_of_parquet_columns(name: str) -> None:
    kind, value, in_csv, in_json = TYPES[name]
    tables = [Table(("a", "b"), (column(kind, [v]), ["x"])) for v in (None, value)]
    found = pq.read_table(io.BytesIO(written(tables, ".parquet")))
    assert found.schema.types == [kind, pa.string()]
    assert found.column("a").combine_chunks().equals(column(kind, [None, value])) or pa.types.is_dictionary(kind)
    lines, objects = written(tables, ".csv").decode().split("\n"), written(tables, ".jsonl").decode().splitlines()
    assert lines[:2] == ["a,b", ",x"]
    assert json.loads(objects[0]) == {"a": None, "b": "x"}
    if in_csv:
        assert lines[2] == f"{in_csv},x"
        assert json.loads(objects[1]) == {"a": in_json, "b": "x"}


def test_only_texts_are_escaped_as_formulas() -> None:
    table = Table.of({"n": [-1, -0.5], "text": ["-1", "@x"], "=name": np.array([1.0, float("nan")])})
    assert written([table], ".csv").decode() == "n,text,'=name\n-1,'-1,1.0\n-0.5,'@x,\n"


def test_json_has_no_nan() -> None:
    table = Table.of({"x": [float("nan"), float("inf")], "y": [[float("nan"), 1], {"a": np.float32("nan")}]})
    rows = [json.loads(line) for line in written([table], ".jsonl").splitlines()]
    assert rows == [{"x": None, "y": [None, 1]}, {"x": None, "y": {"a": None}}]


def test_a_column_of_empty_cells_keeps_its_rows() -> None:
    content = written([Table.of({"text": ["", "x", ""]})], ".csv").decode()
    assert list(csv.reader(io.StringIO(content, newline=""))) == [["text"], [""], ["x"], [""]]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_only_csv_accepts_a_repeated_column_name(ending: str) -> None:
    table = Table(("z", "z"), (["1"], ["2"]))
    assert written([table], ".csv") == b"z,z\n1,2\n"
    with pytest.raises(InputError, match=r"column 'z' occurs 2 times; rename all but one, or write a \.csv file"):
        check_writable(table, ending)


def test_json_refuses_bytes() -> None:
    table = Table(("b",), (pa.array([b"\xff"]),))
    assert pq.read_table(io.BytesIO(written([table], ".parquet"))).column("b").to_pylist() == [b"\xff"]
    with pytest.raises(InputError, match=r"column 'b' holds bytes, which JSON cannot; write a \.parquet file"):
        check_writable(table, ".jsonl")


@pytest.mark.parametrize("ending", WRITABLE)
def test_lone_surrogates_are_replaced(ending: str) -> None:
    content = written([Table.of({"text": ["half \ud800"]})], ending)
    if ending == ".parquet":
        assert pq.read_table(io.BytesIO(content)).to_pydict() == {"text": ["half ?"]}
    else:
        assert "half ?" in content.decode()


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], "category"),
        (["category"], "subtaxa_category"),
        (["outlier"], "subtaxa_category"),  # All names change together.
        (["category", "subtaxa_category"], "subtaxa_category_2"),
        (["category", "subtaxa_outlier", "subtaxa_category_2"], "subtaxa_category_3"),
    ],
)
def test_no_column_of_the_user_is_replaced(taken: list[str], expected: str) -> None:
    names = unused_names(ASSIGNMENT_COLUMNS, taken)
    assert names["category"] == expected
    assert list(names) == list(ASSIGNMENT_COLUMNS)
    assert not set(names.values()) & set(taken)


def test_all_schemas_agree() -> None:
    assert SPARK_SCHEMA == "category_id long, category string, category_label string, confidence double, outlier string"
    assert RUN_ASSIGNMENT_COLUMNS == ("row", "text", "label", "category_id", "category", "confidence", "outlier")
