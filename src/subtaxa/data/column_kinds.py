"""What the values of a column are: dates, numbers, categories or texts, told from the values as they are written."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence

KINDS = ("date", "number", "category", "text")
# A number as programs write it. Digits with a leading zero are a code: 007 is not 7.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d{0,17})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?", re.ASCII)
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
# A column of short strings is of categories if it has at most so many, or so few for its number of rows.
FEW, MOST, SHARE, LONGEST = 20, 1000, 0.1, 100


def kind_of(values: Sequence[str], rows: int) -> str:
    """The kind of a column with these distinct values, none of them missing, in a number of rows."""
    if values and all(map(_NUMBER.fullmatch, values)):
        return "number"
    if values and date_reader(values) is not None:
        return "date"
    few = len(values) <= max(FEW, min(MOST, SHARE * rows))
    return "category" if few and all(len(value) <= LONGEST for value in values) else "text"


def date_reader(values: Sequence[str]) -> Callable[[str], datetime.datetime] | None:
    """What reads all of these values as dates, or None. 03/04/2025 may be two days, so it needs a 13th elsewhere."""
    readers = [_iso, *(_with_format(day + time) for day in _DAYS for time in _TIMES)]
    fitting = [reader for reader in readers if _reads(reader, values)]
    return fitting[0] if len(fitting) == 1 else None


def _iso(value: str) -> datetime.datetime:
    if not _ISO.fullmatch(value):
        raise ValueError(value)
    return _in_utc(datetime.datetime.fromisoformat(value))


def _with_format(form: str) -> Callable[[str], datetime.datetime]:
    return lambda value: datetime.datetime.strptime(value, form)


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _reads(reader: Callable[[str], datetime.datetime], values: Sequence[str]) -> bool:
    try:
        for value in values:
            reader(value)
    except (ValueError, OverflowError):
        return False
    return True
