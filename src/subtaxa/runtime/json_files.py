"""Reads JSON files that may come from a stranger, and checks that they have the expected shape.

A shape describes a JSON value:

    str, bool, None     a value of this type
    int                 a whole number of at most 53 bits
    float               a finite number, whole or not
    MEASURE             a number, whole or not, or NaN or infinity
    (shape, shape)      a value of one of these shapes
    [shape]             a list of values of this shape
    {str: shape}        an object with any keys, whose values have this shape
    {"key": shape}      an object with this key, and possibly others
    {"key?": shape}     the same, but the key may be missing

For example, `{"names": [str], "score?": (float, None)}` is the shape of `{"names": ["a", "b"], "score": 0.5}`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.errors import InputError

# The size in bytes up to which a file is read.
LARGEST = 2**28

# The shape of a measured value, which may be NaN or infinite.
MEASURE = object()


def read_limited(path: Path, errors: str = "strict") -> str:
    """The text of a file, unless the file is too large."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InputError(f"{str(path)!r} is larger than {LARGEST // 2**20} MB: it is not a file of a run or a model")
    return content.decode("utf-8", errors)


def read_json(path: Path) -> Any:
    """The content of a JSON file. Invalid JSON raises a ValueError or a RecursionError."""
    return parse(read_limited(path))


def parse(text: str) -> Any:
    """The value of a JSON text. Lone surrogates, which no file can hold, are replaced."""
    content = json.loads(text)
    if "\\ud" in text or "\\uD" in text:
        again = json.dumps(content, ensure_ascii=False)
        content = json.loads(again.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return content


def difference(value: Any, shape: Any, place: str = "it") -> str | None:
    """How a value first differs from a shape, in words, or None if it has that shape."""
    if isinstance(shape, tuple):
        return None if any(difference(value, one) is None for one in shape) else f"{place} is {_kind(value)}"
    if isinstance(shape, list) and isinstance(value, list):
        return _first((item, shape[0], f"item {i} of {place}") for i, item in enumerate(value))
    if isinstance(shape, dict) and isinstance(value, dict):
        if str in shape:
            return _first((item, shape[str], f"{name[:40]!r} of {place}") for name, item in value.items())
        for name in shape:
            if not name.endswith("?") and name not in value:
                return f"{place} has no {name!r}"
        known = {name.removesuffix("?"): one for name, one in shape.items()}
        return _first((value[name], one, f"{name!r} of {place}") for name, one in known.items() if name in value)
    return None if _is_plain(value, shape) else f"{place} is {_kind(value)}"


def _first(parts: Any) -> str | None:
    return next((found for part in parts if (found := difference(*part)) is not None), None)


def _is_plain(value: Any, shape: Any) -> bool:
    if shape in (float, MEASURE) and type(value) is float:
        return shape is MEASURE or math.isfinite(value)
    if shape in (int, float, MEASURE):
        return type(value) is int and abs(value) < 2**53
    return value is shape is None or (shape in (str, bool) and type(value) is shape)


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value)) or str(value)[:40]


def json_text(content: Any) -> str:
    """The content as indented JSON in ASCII. NumPy numbers become plain numbers."""
    return json.dumps(content, ensure_ascii=True, indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
