"""The fast CSV parser (Arrow) returns the same values as the row-by-row reader, or declines the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtaxa import read_texts
from subtaxa.data.readers import open_file
from subtaxa.data.texts import _usable_rows, _usable_strings
from subtaxa.errors import InputError

PIECES = ["a", "b", "é", " ", ",", ";", "\t", '"', '""', "\n", "\r", "\r\n", '","', "\u2028", "\x1c", "\ufeff"]
CELL = st.lists(st.sampled_from(["a", "é", " ", '"', ",", "\t", "\n", "\r\n", "\x1c"]), max_size=4).map("".join)


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def check(path: Path, content: str) -> bool:
    """Whether Arrow's parser was used. If so, both readers must agree on every value and every skipped row."""
    path.write_bytes(content.encode())
    try:
        reader = open_file(path)
    except InputError:
        return False
    if reader.columns != ["text", "label"] or (whole := reader.whole_columns("text", "label")) is None:
        return False
    assert list(zip(*whole, strict=True)) == list(reader.pairs("text", "label"))
    assert _usable_strings(*whole) == _usable_rows(reader.pairs("text", "label"))
    return True


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=16), st.sampled_from([".csv", ".tsv"]), st.sampled_from(",;\t"))
def test_random_delimiters_quotes_and_line_breaks(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], kind: str, comma: str
) -> None:
    comma = comma if kind == ".csv" else "\t"
    check(tmp_path_factory.getbasetemp() / f"mess{kind}", f"text{comma}label\n{''.join(pieces)}")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_standard_files_use_the_fast_parser(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], end: str, tabs: bool
) -> None:
    comma, kind = ("\t", "tsv") if tabs else (",", "csv")
    lines = [f"text{comma}label", *(f"{quoted(a)}{comma}{quoted(b)}" for a, b in rows)]
    assert check(tmp_path_factory.getbasetemp() / f"standard.{kind}", end.join(lines) + end)


@pytest.mark.parametrize(
    "content",
    [
        b"text,label\na,b\nragged\n",
        b"text,label\na,b,c\n",
        b'text,label\n"never closed,b\n',
        b'text,label\na"b,"c\nd,e\n',
        b'text,label\n"a"b,c\n',
        b"text,label,other\n" + 20_000 * b"a,b,c\n" + b"a,b,\xff\n",
        b"text,label,other\n" + 20_000 * b"a,b,c\n" + b"a,b,\xed\xa0\x80\n",
        b"text,label\na\0,b\n",
        b"\ntext,label\na,b\n",
        "text,label\na,b\n".encode("utf-16"),
    ],
)
def test_unusual_files_use_the_row_by_row_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "unusual.csv"
    path.write_bytes(content)
    assert open_file(path).whole_columns("text", "label") is None


def test_incomplete_rows_are_skipped_with_their_row_numbers(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text('text,label\none, x \n\n"  ",x\ntwo,\n"three, and ""four""",y\n')
    assert open_file(path).whole_columns("text", "label") is not None
    data = read_texts(path)
    assert data.texts == ("one", 'three, and "four"')
    assert data.labels == ("x", "y")
    assert data.rows == (1, 4)
    assert [(skip.row, skip.reason) for skip in data.skipped] == [(2, "empty text"), (3, "missing label")]


def test_na_and_null_are_ordinary_labels(tmp_path: Path) -> None:
    path = tmp_path / "missing.csv"
    path.write_text("text,label\na,NA\nnull,x\nc,NaN\nn/a,null\n")
    assert check(path, path.read_text())
    assert read_texts(path).labels == ("NA", "x", "NaN", "null")
