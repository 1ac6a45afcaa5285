"""CSV and TSV by Arrow's parser, for files that it reads exactly as the careful reader in readers.py does.

These are UTF-8 files in which all rows have as many fields as the header, and in which quotes enclose a field or are
doubled inside one. All other files are left to the careful reader, which also explains what is wrong with them.
"""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np

# The largest file that is read, in bytes: the parser holds it in memory more than once.
MAX_BYTES = 2**28
_QUOTE, _BREAKS = ord('"'), (ord("\n"), ord("\r"))


def two_columns(
    path: Path, delimiter: str, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    """The values of two columns, or None if the careful reader is needed, as for a value over `longest` characters."""
    if path.stat().st_size > MAX_BYTES:
        return None
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if b"\0" in content or not (_is_utf8(content) and _has_standard_quotes(content, delimiter)):
        return None
    return _parse(content, delimiter, width, chosen, longest)


def _is_utf8(content: bytes) -> bool:
    """Whether all bytes are UTF-8, including those of columns that are not read."""
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, len(content)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(content)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _has_standard_quotes(content: bytes, delimiter: str) -> bool:
    """Whether each quote opens a field, closes one, or is doubled inside one."""
    if b'"' not in content:
        return True
    values = np.frombuffer(content, dtype=np.uint8)
    places = np.flatnonzero(values == _QUOTE)
    breaks = np.flatnonzero(np.diff(places) != 1)  # The last quote of each run of adjacent quotes but the last run.
    first, last = places[np.r_[0, breaks + 1]], places[np.r_[breaks, len(places) - 1]]
    odd = (last - first) % 2 == 0  # A run of odd length opens or closes a field; the other quotes come in pairs.
    first, last = first[odd], last[odd]
    if len(first) % 2:
        return False
    border = np.zeros(256, dtype=bool)
    border[[ord(delimiter), *_BREAKS]] = True
    before, after = first[::2] - 1, last[1::2] + 1
    before, after = before[before >= 0], after[after < len(values)]  # The ends of the file are borders.
    return bool(border[values[before]].all() and border[values[after]].all())


def _parse(
    content: bytes, delimiter: str, width: int, chosen: tuple[int, int], longest: int
) -> tuple[list[str], list[str]] | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = [str(i) for i in range(width)]
    text, label = (names[i] for i in chosen)
    distinct = pa.dictionary(pa.int32(), pa.string())  # Labels repeat, so each is stored once.
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            csv.ConvertOptions(
                include_columns=[text, label],
                column_types={text: pa.string(), label: distinct},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:  # Most often a row with another number of fields.
        return None
    texts, labels = table.column(text), table.column(label).unify_dictionaries()
    different = labels.chunk(0).dictionary if labels.num_chunks else pa.array([], pa.string())
    if any((pc.max(pc.binary_length(column)).as_py() or 0) > longest for column in (texts, different)):
        return None
    which = np.concatenate([np.empty(0, np.int32), *(chunk.indices.to_numpy() for chunk in labels.chunks)])
    strings = np.array(different.to_pylist(), dtype=object)
    return texts.slice(1).to_numpy().tolist(), strings[which[1:]].tolist()
