"""Durations as people write them: 90, 90s, 5m or 1.5h."""

from __future__ import annotations

import re

from subtaxa.errors import SettingError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|)", re.ASCII)


def parse_duration(value: str, name: str) -> float:
    """The seconds in a duration that the user gave for `name`.

    >>> parse_duration("1.5h", "--time-limit")
    5400.0
    """
    found = _PATTERN.fullmatch(value.strip())
    if found is None:
        shown = value if len(value) <= 40 else f"{value[:37]}..."
        raise SettingError(f"{name} is {shown!r}: it must be a duration such as 60s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]
