"""Hostile cells survive writing and reading in every format, checked with Python's csv module, pandas and Arrow."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subtaxa.data.readers import iter_tables
from subtaxa.data.tables import Table, escape_formula, write_tables
from subtaxa.data.texts import read_texts

DELIMITERS = {"csv": ",", "tsv": "\t"}
CELLS = st.text(" ab,;|\t\"'\r\n=+-@\u2028\x1c", max_size=10) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=10
)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6)
often = settings(max_examples=150, derandomize=True, deadline=None, database=None)
Rows = list[tuple[str, str]]


def written(rows: Rows, kind: str) -> bytes:
    """The rows as our writer writes them, in two chunks."""
    out, half = io.BytesIO(), (len(rows) + 1) // 2
    parts = [part for part in (rows[:half], rows[half:]) if part]
    tables = [Table(("text", "other"), tuple(map(list, zip(*part, strict=True)))) for part in parts]
    assert write_tables(tables, out, f".{kind}") == len(rows)
    return out.getvalue()


def read_by_us(path: Path) -> Rows:
    return [row for table in iter_tables(path, "text") for row in zip(table["text"], table["other"], strict=True)]


def without_nul(text: str) -> str:
    return text.replace("\0", " ")


def escaped(rows: Rows) -> Rows:
    """The rows as they appear in a file that is safe for spreadsheets."""
    return [(escape_formula(text), escape_formula(other)) for text, other in rows]


@pytest.mark.parametrize("kind", DELIMITERS)
@often
@given(ROWS)
@example([("a\rb", "=1"), ("a\r=cmd()", "x")])
@example([("tab\there", 'say "hi"'), ('"', '""')])
@example([("", ""), ("x;=1+1", "\r")])
def test_delimited_files_that_we_write(tmp_path_factory: pytest.TempPathFactory, kind: str, rows: Rows) -> None:
    content, delimiter = written(rows, kind), DELIMITERS[kind]
    by_csv = list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))
    assert by_csv == [["text", "other"], *map(list, escaped(rows))]
    if b"\0" not in content:
        by_pandas = pd.read_csv(io.BytesIO(content), sep=delimiter, dtype=str, keep_default_na=False)
        assert list(by_pandas.itertuples(index=False, name=None)) == escaped(rows)
    path = tmp_path_factory.getbasetemp() / f"ours.{kind}"
    path.write_bytes(b"\xef\xbb\xbf" + content)  # The BOM keeps many NULs from being taken for UTF-16.
    assert read_by_us(path) == [(without_nul(text), other) for text, other in escaped(rows)]


@pytest.mark.parametrize("kind", DELIMITERS)
@pytest.mark.parametrize("judge", ["csv", "pandas"])
@often
@given(ROWS)
def test_delimited_files_that_others_write(
    tmp_path_factory: pytest.TempPathFactory, judge: str, kind: str, rows: Rows
) -> None:
    delimiter = DELIMITERS[kind]
    path = tmp_path_factory.getbasetemp() / f"{judge}.{kind}"
    if judge == "csv":
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file, delimiter=delimiter).writerows([("text", "other"), *rows])
    else:
        frame = pd.DataFrame(rows, columns=["text", "other"])
        frame.to_csv(path, sep=delimiter, index=False, encoding="utf-8-sig", lineterminator="\r\n")
    assert read_by_us(path) == [(without_nul(text), other) for text, other in rows]


@often
@given(ROWS)
def test_json_lines_that_we_write(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    content = written(rows, "jsonl")
    assert [json.loads(line) for line in content.decode().split("\n") if line] == [
        {"text": text, "other": other} for text, other in rows
    ]
    path = tmp_path_factory.getbasetemp() / "ours.jsonl"
    path.write_bytes(content)
    assert read_by_us(path) == [(without_nul(text), without_nul(other)) for text, other in rows]


@often
@given(ROWS)
def test_parquet_that_we_write(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    path = tmp_path_factory.getbasetemp() / "ours.parquet"
    path.write_bytes(written(rows, "parquet"))
    assert list(zip(*pq.read_table(path).to_pydict().values(), strict=True)) == rows
    assert read_by_us(path) == [(without_nul(text), other) for text, other in rows]


def test_quoted_tsv_from_pandas_is_read_correctly(tmp_path: Path) -> None:
    texts = ["plain", "one\ttwo", 'say "hi"', "two\nlines", '"', "a\r\nb"]
    pd.DataFrame({"text": texts, "label": "a"}).to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    data = read_texts(tmp_path / "a.tsv")
    assert list(data.texts) == texts
    assert data.skipped == ()
