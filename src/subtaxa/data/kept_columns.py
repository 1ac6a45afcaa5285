"""The other columns of a user's table, which come along with the texts. Training never sees them.

Values are kept as they were written, so that nothing is lost; the kind of a column says how to read them. They are
Arrow arrays, in which a repeated value costs four bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.data.column_kinds import date_reader, kind_of
from subtaxa.data.columns import find_column
from subtaxa.data.values import clean, is_missing, is_nested
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Ints

if TYPE_CHECKING:
    import pandas as pd

    from subtaxa.data.readers import Reader

CHUNK_ROWS = 50_000


@dataclass(frozen=True)
class KeptColumn:
    """One column: its name, its kind (date, number, category or text), and its values as they were written."""

    name: str
    kind: str
    values: Any  # (N,) Arrow dictionary array of strings; a missing value is null

    @classmethod
    def of(cls, name: str, values: Any) -> KeptColumn:
        """The column of an Arrow array of strings, with its kind recognised."""
        import pyarrow as pa

        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        return cls(name, kind_of(values.dictionary.to_pylist(), len(values)), values)

    def __len__(self) -> int:
        return len(self.values)

    def strings(self) -> list[str | None]:
        """The values as they were written; None where one is missing."""
        return self.values.to_pylist()

    @cached_property
    def codes(self) -> Ints:
        """For each row, the index (N,) of its value in `distinct`, or -1 if it is missing."""
        return self.values.indices.fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct values, in order of appearance."""
        return self.values.dictionary.to_pylist()

    def numbers(self) -> NDArray[np.float64]:
        """The values of a column of numbers (N,); NaN where one is missing or is no number."""
        return np.array([*map(_number, self.distinct), np.nan])[self.codes]

    def dates(self) -> NDArray[np.datetime64]:
        """The values of a column of dates (N,), in UTC if a time zone was given; NaT where one is missing."""
        read = date_reader(self.distinct)
        found = [] if read is None else [np.datetime64(read(value), "us") for value in self.distinct]
        missing = [np.datetime64("NaT", "us")] * (1 if found else 1 + len(self.distinct))
        return np.array([*found, *missing])[self.codes]

    def typed(self) -> Any:
        """The values (N) as numbers, dates or strings, by the kind of the column."""
        return {"number": self.numbers, "date": self.dates}.get(self.kind, self.strings)()


@dataclass(frozen=True)
class KeptColumns:
    """The other columns of N texts, in the order of the texts."""

    columns: tuple[KeptColumn, ...] = ()

    @classmethod
    def of(cls, columns: pd.DataFrame | Mapping[str, Any] | KeptColumns, n: int) -> KeptColumns:
        """Columns from a DataFrame or a dict of lists, each with one value for each of `n` texts."""
        if isinstance(columns, KeptColumns):
            kept, given = columns, {column.name: len(column) for column in columns.columns}
        else:
            if not hasattr(columns, "items"):
                kind = type(columns).__name__
                raise InputError(f"columns is a {kind}; give a DataFrame or a dict of lists")
            lists = {clean(str(name)): list(values) for name, values in columns.items()}
            given = {name: len(values) for name, values in lists.items()}
            kept = cls(tuple(KeptColumn.of(name, _strings(values)) for name, values in lists.items()))
        for name, count in given.items():
            if count != n:
                raise InputError(f"column {name!r} has {count} values for {n} texts; give one value for each text")
        return kept

    def __iter__(self) -> Iterator[KeptColumn]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> KeptColumn:
        found = find_column(self.kinds, name, "keep", "the run")
        return next(column for column in self.columns if column.name == found)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column, by name."""
        return {column.name: column.kind for column in self.columns}

    def extended(self, n: int, more: KeptColumns, n_more: int) -> KeptColumns:
        """The columns of `n` texts and `n_more` further ones. What only one of both has is missing in the other."""
        import pyarrow as pa

        before, after = ({column.name: column.values for column in kept} for kept in (self, more))
        return KeptColumns(
            tuple(
                KeptColumn.of(
                    name,
                    pa.concat_arrays(
                        [
                            found.cast(pa.string()) if (found := part.get(name)) is not None else _missing(count)
                            for part, count in ((before, n), (after, n_more))
                        ]
                    ),
                )
                for name in {**before, **after}
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with dates, floats, categoricals and strings."""
        import pandas as pd

        def typed(column: KeptColumn) -> Any:
            if column.kind in ("number", "date"):
                return column.typed()
            found = pd.Series(column.strings(), dtype=object)
            return found.astype("category") if column.kind == "category" else found

        return pd.DataFrame({column.name: typed(column) for column in self.columns})


NO_COLUMNS = KeptColumns()


def chosen_columns(columns: Sequence[str], keep: Sequence[str] | None, used: Sequence[str], name: str) -> list[int]:
    """The positions of the columns to keep: all but the `used` ones, or those that the user named."""
    if keep is not None:
        return [columns.index(one) for one in dict.fromkeys(find_column(columns, one, "keep", name) for one in keep)]
    return [i for i, column in enumerate(columns) if column not in used]


def read_columns(
    reader: Reader, rows: Sequence[int], keep: Sequence[str] | None = None, used: Sequence[str] = ()
) -> KeptColumns:
    """Read the other columns of a file, for the given rows, which are ascending and counted from 1.

    `keep` names the columns, by default all; `used` are those that were read as texts and labels, and are left out.
    """
    import pyarrow as pa

    chosen = [i for i in chosen_columns(reader.columns, keep, used, reader.name) if reader.columns[i] not in used]
    if not chosen:
        return NO_COLUMNS
    wanted, cells = iter(rows), enumerate(reader.cells(chosen), 1)
    row, chunks = next(wanted, 0), []
    while block := list(islice(cells, CHUNK_ROWS)):
        picked = []
        for number, values in block:
            if number == row:
                picked.append(values)
                row = next(wanted, 0)
        if picked:
            chunks.append([_strings(column) for column in zip(*picked, strict=True)])
    names = _unique([reader.columns[i] for i in chosen])
    arrays = (pa.concat_arrays(parts) for parts in zip(*chunks, strict=True))
    return KeptColumns(tuple(KeptColumn.of(name, array) for name, array in zip(names, arrays, strict=True)))


def _unique(names: Sequence[str]) -> list[str]:
    """The names, where one that occurs again gets a number: id, id_2."""
    found: dict[str, None] = {}
    for name in names:
        unused, number = name, 1
        while unused in found or (number > 1 and unused in names):
            number += 1
            unused = f"{name}_{number}"
        found[unused] = None
    return list(found)


def _strings(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.array(map(_string, values), pa.string())


def _missing(count: int) -> Any:
    import pyarrow as pa

    return pa.nulls(count, pa.string())


def _string(value: Any) -> str | None:
    """A value as it is kept: a clean string, or None if there is nothing in it."""
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return None
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    text = json.dumps(value, ensure_ascii=False, default=str) if is_nested(value) else str(value)
    return clean(text) if text.strip() else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
