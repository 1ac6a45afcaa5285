"""How the report writes texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

NOTHING = "\N{EN DASH}"


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def number(value: float | None) -> float:
    """The value, or 0 where there is none that could be drawn."""
    return float(value) if value is not None and is_number(value) else 0.0


def cut(text: object, limit: int = 400) -> str:
    """At most `limit` characters, ended by an ellipsis, between words if possible."""
    text = str(text).strip()
    if len(text) > limit:
        head = text[: limit - 1]
        space = head.rfind(" ", limit * 9 // 10)
        text = (head[:space] if space > 0 else head).rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    return text or "(blank)"


def percent(share: float | None) -> str:
    if share is None or not is_number(share):
        return NOTHING
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def figure(value: float | None) -> str:
    """A whole number with thousands separators, any other with three significant digits."""
    if value is None or not is_number(value):
        return NOTHING
    written = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return written.replace("-", "\N{MINUS SIGN}")


def seconds(value: float) -> str:
    minutes, rest = divmod(round(number(value)), 60)
    if minutes:
        return f"{minutes // 60:,} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"
    return f"{number(value):.1f} s" if number(value) >= 0.05 else "<0.1 s"


def setting(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: NOTHING, True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={setting(given)}" for name, given in value.items()) or NOTHING
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(setting, value)) or NOTHING
    return f"{float(value):g}" if isinstance(value, Real) and not isinstance(value, Integral) else str(value)
