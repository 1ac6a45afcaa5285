"""How the report writes texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from numbers import Integral, Real

MISSING = "\N{EN DASH}"


def is_finite_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def finite_or_zero(value: float | None) -> float:
    """The value, or 0 if it cannot be drawn."""
    return float(value) if value is not None and is_finite_number(value) else 0.0


def shorten(text: object, limit: int = 400) -> str:
    """At most `limit` characters; a longer text is cut between two words if possible and ends in an ellipsis."""
    text = str(text).strip()
    if len(text) > limit:
        head = text[: limit - 1]
        space = head.rfind(" ", limit * 9 // 10)
        text = (head[:space] if space > 0 else head).rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    return text or "(blank)"


def format_percent(share: float | None) -> str:
    if share is None or not is_finite_number(share):
        return MISSING
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def format_number(value: float | None) -> str:
    """A whole number with thousands separators, or any other number with three significant digits."""
    if value is None or not is_finite_number(value):
        return MISSING
    written = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return written.replace("-", "\N{MINUS SIGN}")


def format_seconds(value: float) -> str:
    minutes, rest = divmod(round(finite_or_zero(value)), 60)
    if minutes:
        return f"{minutes // 60:,} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"
    return f"{finite_or_zero(value):.1f} s" if finite_or_zero(value) >= 0.05 else "<0.1 s"


def format_time(moment: str) -> str:
    """An ISO time to the minute, as in "2026-11-18 05:17 UTC"; any other text as it is."""
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return parsed.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if parsed.tzinfo else moment


def format_setting(value: object) -> str:
    """The value of a setting as a person would write it."""
    if value is None or isinstance(value, bool):
        return {None: MISSING, True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={format_setting(given)}" for name, given in value.items()) or MISSING
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(format_setting, value)) or MISSING
    return f"{float(value):g}" if isinstance(value, Real) and not isinstance(value, Integral) else str(value)
