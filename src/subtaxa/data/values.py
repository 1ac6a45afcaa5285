"""Single values of a user's table: which are missing, which are not text, and what a clean text is."""

from __future__ import annotations

from collections.abc import Sized
from numbers import Real


class CleanTexts(list[str]):
    """Texts that have been through `clean`: a reader or a caller's list is cleaned once, where it comes in."""


def clean(text: str) -> str:
    """Replace what neither a tokenizer nor a UTF-8 file can hold: NUL characters and lone surrogates."""
    text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def label_string(value: object) -> str:
    """A label as a string, as the labels of training texts are; "" if it is missing."""
    return "" if is_missing(value) else clean(str(value)).strip()


def is_nested(value: object) -> bool:
    """Whether the value is a list, a dict, bytes or anything else with a length that is not a string."""
    return not isinstance(value, str) and isinstance(value, Sized)


def is_missing(value: object) -> bool:
    """Whether the value is None, NaN, or pandas' NA or NaT (told by their type names, to avoid importing pandas)."""
    if isinstance(value, Real):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def shortened(value: object) -> str:
    """The value as an error message quotes it, at most 40 characters long."""
    return repr(value if len(str(value)) <= 40 else str(value)[:37] + "...")
