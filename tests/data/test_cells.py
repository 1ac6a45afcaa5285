"""Cells of a table: they read back unchanged, and a spreadsheet never runs one as a formula."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from subtaxa.data.tables import csv_text, escape_formula, parquet_bytes, unescape_formula

repeatable = hypothesis_settings(max_examples=300, derandomize=True, deadline=None, database=None)
# The characters that begin a formula. The last four are the fullwidth forms of the first four.
STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
strings = st.text(st.characters(exclude_categories=["Cs"])) | st.text("' ab,\"|" + STARTS, max_size=8)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@repeatable
@given(strings)
@example("")
@example("'")
@example("'''=")
@example("'plain")
def test_unescape_undoes_escape(cell: str) -> None:
    assert unescape_formula(escape_formula(cell)) == cell


@repeatable
@given(strings)
def test_no_escaped_cell_begins_a_formula(cell: str) -> None:
    assert not escape_formula(cell).startswith(tuple(STARTS))


@pytest.mark.parametrize("cell", [*(f"{start}1" for start in STARTS), "@SUM(A1)", "'=1", "''-1"])
def test_formulas_get_an_apostrophe(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "plain", "a=b", "'quoted'", "'", " =1", "1-2", "👍"])
def test_other_cells_are_not_changed(cell: str) -> None:
    assert escape_formula(cell) == unescape_formula(cell) == cell


@repeatable
@given(st.lists(st.tuples(strings, strings), max_size=6), strings)
@example([("line\rbreak", "label")], "text")
@example([("a\0b", "")], "")
@example([("", "")], "")
def test_csv_reads_back(rows: list[tuple[str, str]], name: str) -> None:
    assume(name not in ("row", "label of it"))
    text = csv_text({"row": range(len(rows)), name: [a for a, _ in rows], "label of it": [b for _, b in rows]})
    header, *body = rows_of(text)
    assert [unescape_formula(cell) for cell in header] == ["row", name, "label of it"]
    assert [[cell if i == 0 else unescape_formula(cell) for i, cell in enumerate(row)] for row in body] == [
        [str(i), a, b] for i, (a, b) in enumerate(rows)
    ]


def test_csv_cells_by_hand() -> None:
    text = csv_text(
        {
            "n": [1, np.int64(2)],
            "share": [0.5, np.float32(2 / 3)],
            "=name": ["=1+1", 'say "hi", twice'],
            "bad": ["half \ud800", None],
        }
    )
    assert text.replace("\r\n", "\n") == 'n,share,\'=name,bad\n1,0.5000,\'=1+1,half ?\n2,0.6667,"say ""hi"", twice",\n'
    text.encode()


def test_csv_columns_must_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        csv_text({"a": [1, 2], "b": [1]})


def test_parquet_reads_back() -> None:
    import pyarrow.parquet as pq

    columns = {"row": [0, 1], "text": ["=1+1\r\n", "half \ud800"], "confidence": [0.25, 1.0]}
    found = pq.read_table(io.BytesIO(parquet_bytes(columns))).to_pydict()
    assert found == {"row": [0, 1], "text": ["=1+1\r\n", "half ?"], "confidence": [0.25, 1.0]}


@pytest.mark.parametrize("cell", ["a\r=1+1", "a;=1+1", "a|=1+1", "a\t=1+1", "a\n=1+1", "\r=1+1", 'a";=1+1'])
def test_no_part_of_a_cell_becomes_a_cell_of_its_own(cell: str) -> None:
    text = csv_text({"text": [cell], "other": ["x"]})
    body = text.partition("\n")[2]
    assert body.startswith('"') and body.endswith('",x\n')  # noqa: PT018
    assert [unescape_formula(found) for found in rows_of(text)[1]] == [cell, "x"]
