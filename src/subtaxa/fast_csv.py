"""CSV and TSV by Arrow's parser, for the files of which it makes just what the careful reader (readers.py) makes.

Those are UTF-8 files whose rows all have as many fields as the header, and whose quotes stand where the standard has
them: around a field, doubled inside. Anything else is left to the careful reader, which also knows what to say of it.
"""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np

LARGEST = 2**28  # bytes: the whole file is held in memory, more than once
_QUOTE, _BREAKS = ord('"'), (ord("\n"), ord("\r"))


def two_columns(
    path: Path, delimiter: str, quoted: bool, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    """The values of two columns below the header, none over the `longest`, or None if this needs the careful reader."""
    if path.stat().st_size > LARGEST:
        return None
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if b"\0" in content or not (_is_text(content) and (not quoted or _is_regular(content, delimiter))):
        return None
    return _parsed(content, delimiter, quoted, width, chosen, longest)


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_regular(content: bytes, delimiter: str) -> bool:
    """Whether each quote opens a field, closes one, or is one of two inside a field."""
    if b'"' not in content:
        return True
    single = np.frombuffer(b"\n" + content.replace(b'""', b"") + b"\n", dtype=np.uint8)
    places = np.flatnonzero(single == _QUOTE)
    if len(places) % 2:
        return False
    border = np.zeros(256, dtype=bool)
    border[[ord(delimiter), *_BREAKS]] = True
    return bool(border[single[places[::2] - 1]].all() and border[single[places[1::2] + 1]].all())


def _parsed(
    content: bytes, delimiter: str, quoted: bool, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = [str(i) for i in range(width)]
    wanted = [names[i] for i in chosen]
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted and b'"' in content
            ),
            csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:  # rows of another width, mostly
        return None
    if any((pc.max(pc.utf8_length(table.column(name))).as_py() or 0) > longest for name in wanted):
        return None
    first, second = (table.column(name).slice(1).to_numpy().tolist() for name in wanted)
    return first, second
