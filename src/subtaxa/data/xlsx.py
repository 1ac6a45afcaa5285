"""Excel workbooks, written without another library: a zip file with one XML file for each sheet.

Every string is an inline string, which a spreadsheet shows and never runs as a formula.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from subtaxa.data.values import is_missing
from subtaxa.errors import InputError

# What Excel allows.
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 1_048_576, 16_384, 32_767
# Characters that XML cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Excel reads _x0041_ as the character with this number.
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_DAY_ZERO, _FIRST_DAY = np.datetime64("1899-12-30"), np.datetime64("1900-03-01")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_BOLD, _DATE = 1, 2  # styles of the cells, counted from 0
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}">'
    '<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>'
    '<fonts count="2"><font/><font><b/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/><xf fontId="1" applyFont="1"/>'
    '<xf numFmtId="164" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


def xlsx_bytes(sheets: Mapping[str, Mapping[str, Sequence[Any]]]) -> bytes:
    """A workbook of named sheets, each of named columns. The first row of a sheet has the names and stays in view."""
    names = list(sheets)
    files = {
        "[Content_Types].xml": _content_types(len(names)),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": _workbook(names),
        "xl/_rels/workbook.xml.rels": _relations(
            {f"rId{i}": ("worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(names) + 1)}
            | {f"rId{len(names) + 1}": ("styles", "styles.xml")}
        ),
        "xl/styles.xml": _STYLES,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            with archive.open(_entry(path), "w") as file:
                file.write((_HEAD + text).encode())
        for i, (name, columns) in enumerate(sheets.items(), 1):
            with archive.open(_entry(f"xl/worksheets/sheet{i}.xml"), "w") as file:
                for part in _sheet(name, columns):
                    file.write(part.encode())
    return out.getvalue()


def _entry(path: str) -> zipfile.ZipInfo:
    """A file in the workbook. Its time is fixed, so that the same content gives the same bytes."""
    entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _sheet(name: str, columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    rows = max(map(len, columns.values()), default=0)
    for number, most, what in ((rows + 1, MAX_ROWS, "rows"), (len(columns), MAX_COLUMNS, "columns")):
        if number > most:
            raise InputError(f"sheet {name!r} would have {number:,} {what}, Excel has {most:,}: export another format")
    yield f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    yield '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    yield "<sheetData>"
    yield f"<row>{''.join(_text(str(name), _BOLD) for name in columns)}</row>"
    for row in zip(*columns.values(), strict=True):
        yield f"<row>{''.join(map(_cell, row))}</row>"
    yield "</sheetData></worksheet>"


def _cell(value: Any) -> str:
    if is_missing(value) or (isinstance(value, np.datetime64) and np.isnat(value)):
        return "<c/>"
    if isinstance(value, np.datetime64):
        if value < _FIRST_DAY:  # Excel's calendar has a 29 February 1900.
            return _text(str(value))
        days = float((value - _DAY_ZERO) / np.timedelta64(1, "D"))
        return f'<c s="{_DATE}"><v>{days!r}</v></c>'
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return f"<c><v>{int(value) if isinstance(value, Integral) else float(value)!r}</v></c>"
    return _text(str(value))


def _text(text: str, style: int = 0) -> str:
    safe = escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", _ESCAPE.sub("_x005F_", text[:MAX_CELL])))
    return f'<c s="{style}" t="inlineStr"><is><t xml:space="preserve">{safe}</t></is></c>'


def _workbook(names: Sequence[str]) -> str:
    sheets = "".join(f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="rId{i}"/>' for i, name in enumerate(names, 1))
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    found = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{path}"/>' for name, (kind, path) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{found}</Relationships>'


def _content_types(sheets: int) -> str:
    form = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {"workbook": "sheet.main", "styles": "styles"} | {
        f"worksheets/sheet{i}": "worksheet" for i in range(1, sheets + 1)
    }
    overrides = "".join(
        f'<Override PartName="/xl/{path}.xml" ContentType="{form}.{kind}+xml"/>' for path, kind in parts.items()
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/><Default '
        f'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{overrides}</Types>'
    )
