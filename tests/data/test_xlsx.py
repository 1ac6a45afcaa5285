"""Workbooks: what is in them, as a reader of XML sees it, and as openpyxl does where it is installed."""

from __future__ import annotations

import io
import zipfile
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from subtaxa.data import xlsx
from subtaxa.data.xlsx import xlsx_bytes
from subtaxa.errors import InputError

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
HOSTILE = ["=1+1", "<b>&amp;", "\x00\x1b", " two\nlines ", "_x0041_", None]
DATES = np.array(["2026-01-31T12:00", "1850-01-01", "NaT"], "datetime64[us]")


def cells(content: bytes, number: int = 1) -> list[list[tuple[str | None, str]]]:
    """The type and the content of each cell, by row."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        sheet = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))  # noqa: S314
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))  # noqa: S314
    return [[(c.get("t"), "".join(c.itertext())) for c in row] for row in sheet.iter(f"{MAIN}row")]


def test_strings_stay_strings_and_numbers_numbers() -> None:
    content = xlsx_bytes({"a & b": {"text": HOSTILE, "n": [1, 2.5, np.nan, np.inf, True, np.int64(7)]}})
    head, *rows = cells(content)
    assert head == [("inlineStr", "text"), ("inlineStr", "n")]
    assert [row[0] for row in rows] == [
        ("inlineStr", "=1+1"),
        ("inlineStr", "<b>&amp;"),
        ("inlineStr", "��"),
        ("inlineStr", " two\nlines "),
        ("inlineStr", "_x005F_x0041_"),
        (None, ""),
    ]
    assert [row[1] for row in rows] == [
        *((None, "1"), (None, "2.5"), (None, "")),
        *(("inlineStr", "inf"), ("inlineStr", "True"), (None, "7")),
    ]
    assert b"<f>" not in content


def test_dates_are_days_of_excels_calendar() -> None:
    _, first, second, third = cells(xlsx_bytes({"texts": {"when": DATES}}))
    assert first == [(None, "46053.5")]
    assert second[0][0] == "inlineStr"
    assert second[0][1].startswith("1850-01-01")
    assert third == [(None, "")]


def test_the_same_content_gives_the_same_bytes() -> None:
    assert xlsx_bytes({"s": {"a": ["x"]}}) == xlsx_bytes({"s": {"a": ["x"]}})


def test_what_excel_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_CELL", 3)
    assert cells(xlsx_bytes({"s": {"a": ["abcdef"]}}))[1] == [("inlineStr", "abc")]
    monkeypatch.setattr(xlsx, "MAX_ROWS", 3)
    with pytest.raises(InputError, match="would have 4 rows, Excel has 3"):
        xlsx_bytes({"s": {"a": [1, 2, 3]}})
    monkeypatch.setattr(xlsx, "MAX_COLUMNS", 1)
    with pytest.raises(InputError, match="would have 2 columns, Excel has 1"):
        xlsx_bytes({"s": {"a": [1], "b": [1]}})


def test_openpyxl_reads_the_same() -> None:
    openpyxl: Any = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(xlsx_bytes({"one": {"t": HOSTILE}, "two": {"d": DATES}})))
    assert book.sheetnames == ["one", "two"]
    assert [row[0].value for row in book["one"].iter_rows()][:2] == ["t", "=1+1"]
    assert book["one"]["A2"].data_type == "s"
    assert book["two"]["A2"].value.isoformat() == "2026-01-31T12:00:00"
    assert book["two"].freeze_panes == "A2"
