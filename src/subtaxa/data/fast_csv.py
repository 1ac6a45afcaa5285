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
    path: Path, delimiter: str, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    """The values of two columns below the header, none over the `longest`, or None if this needs the careful reader."""
    if path.stat().st_size > LARGEST:
        return None
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if b"\0" in content or not (_is_text(content) and _is_regular(content, delimiter)):
        return None
    return _parsed(content, delimiter, width, chosen, longest)


def _is_text(content: bytes) -> bool:
    """Whether all bytes are UTF-8, those of the columns that nobody asks for too."""
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, len(content)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(content)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_regular(content: bytes, delimiter: str) -> bool:
    """Whether each quote opens a field, closes one, or is one of two inside a field."""
    if b'"' not in content:
        return True
    values = np.frombuffer(content, dtype=np.uint8)
    places = np.flatnonzero(values == _QUOTE)
    breaks = np.flatnonzero(np.diff(places) != 1)  # between two runs of quotes
    first, last = places[np.r_[0, breaks + 1]], places[np.r_[breaks, len(places) - 1]]
    odd = (last - first) % 2 == 0  # all but one of such a run are in twos
    first, last = first[odd], last[odd]
    if len(first) % 2:
        return False
    border = np.zeros(256, dtype=bool)
    border[[ord(delimiter), *_BREAKS]] = True
    before, after = first[::2] - 1, last[1::2] + 1
    before, after = before[before >= 0], after[after < len(values)]  # the ends of the file are borders, too
    return bool(border[values[before]].all() and border[values[after]].all())


def _parsed(
    content: bytes, delimiter: str, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = [str(i) for i in range(width)]
    text, label = (names[i] for i in chosen)
    few = pa.dictionary(pa.int32(), pa.string())  # labels: the strings that differ, and which of them each row has
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            csv.ConvertOptions(
                include_columns=[text, label], column_types={text: pa.string(), label: few}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:  # rows of another width, mostly
        return None
    texts, labels = table.column(text), table.column(label).unify_dictionaries()
    different = labels.chunk(0).dictionary if labels.num_chunks else pa.array([], pa.string())
    if any((pc.max(pc.binary_length(column)).as_py() or 0) > longest for column in (texts, different)):
        return None
    which = np.concatenate([np.empty(0, np.int32), *(chunk.indices.to_numpy() for chunk in labels.chunks)])
    strings = np.array(different.to_pylist(), dtype=object)
    return texts.slice(1).to_numpy().tolist(), strings[which[1:]].tolist()
