"""The other columns of the texts as a compact block of the page's data, for filters, colours and counts.

Columns of long or always different texts are left out: they would make the page large, and nothing can be counted by
them. N texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.data.column_kinds import FEW
from subtaxa.data.kept_columns import KeptColumn, KeptColumns
from subtaxa.report.formatting import is_finite_number, shorten

MAX_CELLS = 4_000_000  # of all columns together
MAX_VALUES = 100  # Values of a column of categories; the less frequent ones are counted together.
NAME_LENGTH, VALUE_LENGTH = 60, 80  # in characters


def columns_block(columns: KeptColumns) -> dict[str, Any]:
    """The columns that the page has, and the names of the others with the reason in words."""
    shown: list[KeptColumn] = []
    left_out: list[tuple[KeptColumn, str]] = []
    for column in columns:
        reason = _why_left_out(column)
        if not reason and (1 + len(shown)) * len(column) > MAX_CELLS:
            reason = "the page would become too large"
        if reason:
            left_out.append((column, reason))
        else:
            shown.append(column)
    names = _different(column.name for column in shown)
    return {
        "columns": [{"name": name, **_values(column)} for name, column in zip(names, shown, strict=True)],
        "left_out": [[shorten(column.name, NAME_LENGTH), reason] for column, reason in left_out],
    }


def _why_left_out(column: KeptColumn) -> str:
    if column.kind == "text" and len(column.distinct) > FEW:
        return "texts"
    if not (column.codes >= 0).any():
        return "empty"
    if len(np.unique(column.codes)) == 1:
        return "the same value everywhere"
    return ""


def _values(column: KeptColumn) -> dict[str, Any]:
    """The kind and the values (N) of a column. A missing number or day is None, a missing value has the code -1."""
    if column.kind == "date":
        days = column.dates().astype("datetime64[D]")  # (N,)
        return {"kind": "date", "days": _days(days)}
    if column.kind == "number":
        return {"kind": "number", "numbers": [_short_number(value) for value in column.numbers().tolist()]}
    values, codes = _most_frequent(column)
    return {"kind": "category", "values": values, "codes": codes.tolist()}


def _days(days: NDArray[np.datetime64]) -> list[int | None]:
    """Days since 1970."""
    missing = np.isnat(days)
    return [None if gone else day for gone, day in zip(missing.tolist(), days.astype(np.int64).tolist(), strict=True)]


def _short_number(value: float) -> float | int | None:
    """A number with at most six significant digits, or a whole number as it is."""
    if not is_finite_number(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.6g}")


def _most_frequent(column: KeptColumn) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values, most frequent first, and the index (N,) of each text's value among them."""
    known, codes = np.unique(column.codes, return_inverse=True)
    counts = np.bincount(codes, minlength=len(known))
    counts[known < 0] = -1  # A missing value comes last and gets the code -1.
    order = np.argsort(-counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = [column.distinct[i] for i in known[order].tolist() if i >= 0]
    ranks = rank[codes]  # (N,)
    codes = np.where(ranks < len(found), ranks, -1)
    if len(found) <= MAX_VALUES:
        return _different(found, VALUE_LENGTH), codes
    last = MAX_VALUES - 1
    names = [*found[:last], f"({len(found) - last:,} other values)"]
    return _different(names, VALUE_LENGTH), np.minimum(codes, last)


def _different(names: Iterable[str], limit: int = NAME_LENGTH) -> list[str]:
    """The names, shortened. One that then occurs again gets a number: a long na…, a long na… (2)."""
    found: dict[str, None] = {}
    for name in names:
        short = unused = shorten(name, limit)
        number = 1
        while unused in found:
            number += 1
            unused = f"{short} ({number})"
        found[unused] = None
    return list(found)
