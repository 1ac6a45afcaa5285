"""Tables that are written for a user: CSV, TSV, JSON Lines and Parquet, each by the one writer of its format.

The rules that keep a file safe and readable are only here: cells that a spreadsheet would run as formulas are
escaped, every cell that could be split is quoted, and lone surrogates are replaced.
"""

from __future__ import annotations

import datetime
import decimal
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import IO, Any

from subtaxa.data.values import is_missing
from subtaxa.errors import InputError

# The columns that describe the category of a text, with Arrow's names of their types.
ASSIGNMENT_COLUMNS = {
    "category_id": "int64",
    "category": "string",
    "category_label": "string",
    "confidence": "double",
    "outlier": "string",
}
# The columns of a run folder's assignments. The label of a text is also the label of its category.
RUN_ASSIGNMENT_COLUMNS = ("row", "text", "label", *(name for name in ASSIGNMENT_COLUMNS if name != "category_label"))
_SPARK_TYPES = {"int64": "long", "string": "string", "double": "double"}
SPARK_SCHEMA = ", ".join(f"{name} {_SPARK_TYPES[kind]}" for name, kind in ASSIGNMENT_COLUMNS.items())

# A spreadsheet runs a cell that begins with one of these characters as a formula.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001
# A reader could split a cell at one of these characters if the cell were not quoted.
_NEEDS_QUOTES = re.compile(r'[",;|\t\r\n]')


def escape_formula(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


@dataclass(frozen=True)
class Table:
    """Some rows of a table, column by column: lists, or Arrow arrays with the types of a Parquet file.

    Two columns may have the same name, as in a CSV file.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Table:
        """A table of named columns, which must have one length."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns have different lengths: {sorted(lengths)}")
        return cls(tuple(columns), tuple(columns.values()))

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Any:
        return values_of(self.columns[self.names.index(name)])

    def only(self, positions: Iterable[int]) -> Table:
        """The same rows with some of the columns."""
        chosen = list(positions)
        return Table(tuple(self.names[i] for i in chosen), tuple(self.columns[i] for i in chosen))

    def with_columns(self, more: Mapping[str, Any]) -> Table:
        """The same rows with more columns at the end."""
        return Table((*self.names, *more), (*self.columns, *more.values()))


class TableWriter:
    """Writes tables with the same columns to a binary file, one after the other."""

    def __init__(self, sink: IO[bytes]) -> None:
        self.sink = sink

    def write(self, table: Table) -> None:
        """Append the rows of a table."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what belongs at the end of the file. The file itself stays open."""


class CsvWriter(TableWriter):
    """CSV or TSV as Python's csv module and pandas read it; floats have a fixed number of `decimals` if it is given."""

    def __init__(self, sink: IO[bytes], delimiter: str = ",", decimals: int | None = None) -> None:
        super().__init__(sink)
        self.delimiter, self.decimals, self.has_header = delimiter, decimals, False

    def write(self, table: Table) -> None:
        rows = [] if self.has_header else [tuple(map(self._cell, table.names))]
        self.has_header = True
        rows += zip(*(map(self._cell, values_of(column)) for column in table.columns), strict=True)
        blank = '""' if len(table.names) == 1 else ""  # A blank line would not count as a row.
        lines = "".join((self.delimiter.join(row) or blank) + "\n" for row in rows)
        self.sink.write(lines.encode("utf-8", "replace"))

    def _cell(self, value: Any) -> str:
        if is_missing(value):
            return ""
        if isinstance(value, Real) and not isinstance(value, (Integral, bool)):
            return repr(float(value)) if self.decimals is None else f"{float(value):.{self.decimals}f}"
        text = str(value)
        if isinstance(value, (Real, decimal.Decimal)):
            return text
        text = escape_formula(text)
        return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


class JsonLinesWriter(TableWriter):
    """One JSON object per row."""

    def write(self, table: Table) -> None:
        import json

        check_writable(table, ".jsonl")
        rows = zip(*map(values_of, table.columns), strict=True)
        lines = (json.dumps(_json(dict(zip(table.names, row, strict=True))), ensure_ascii=False) for row in rows)
        self.sink.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))


class ParquetWriter(TableWriter):
    """Parquet: Arrow arrays keep their types, which must be the same in all tables."""

    _writer: Any = None

    def write(self, table: Table) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        check_writable(table, ".parquet")
        rows = pa.Table.from_arrays([_arrow(column) for column in table.columns], names=list(table.names))
        self._writer = self._writer or pq.ParquetWriter(self.sink, rows.schema)
        self._writer.write_table(rows)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


_WRITERS: dict[str, Callable[[IO[bytes]], TableWriter]] = {
    ".csv": CsvWriter,
    ".tsv": partial(CsvWriter, delimiter="\t"),
    ".jsonl": JsonLinesWriter,
    ".parquet": ParquetWriter,
}
WRITABLE = tuple(_WRITERS)


def write_tables(tables: Iterable[Table], sink: IO[bytes], ending: str) -> int:
    """Write tables one after the other in the format of a file's ending, and return the number of rows."""
    writer, count = _WRITERS[ending](sink), 0
    for table in tables:
        writer.write(table)
        count += len(table)
    writer.close()
    return count


def csv_text(columns: Mapping[str, Any], decimals: int = 4) -> str:
    """Named columns as the text of a CSV file, with floats rounded to a number of decimals."""
    out = io.BytesIO()
    CsvWriter(out, decimals=decimals).write(Table.of(columns))
    return out.getvalue().decode()


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """Named columns as a Parquet file."""
    out = io.BytesIO()
    write_tables([Table.of(columns)], out, ".parquet")
    return out.getvalue()


def check_writable(table: Table, ending: str) -> None:
    """Refuse a table that the format of a file's ending cannot hold."""
    if ending in (".jsonl", ".parquet"):
        for name in table.names:
            if table.names.count(name) > 1:
                count = table.names.count(name)
                raise InputError(f"column {name!r} occurs {count} times; rename all but one, or write a .csv file")
    if ending == ".jsonl":
        for name, column in zip(table.names, table.columns, strict=True):
            if "binary" in str(getattr(column, "type", "")):
                raise InputError(f"column {name!r} holds bytes, which JSON cannot; write a .parquet file")


def values_of(column: Any) -> Sequence[Any]:
    """The values of a column as Python objects."""
    if not hasattr(column, "to_pylist"):
        return column.tolist() if hasattr(column, "tolist") else column
    import numpy as np
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        try:
            return column.cast(pa.string()).to_pylist()  # Python's datetime has no nanoseconds.
        except pa.ArrowInvalid:  # The time zone has an unknown name. Whatever it is, the values are in UTC.
            return column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.string()).to_pylist()
    try:
        values = column.to_pylist()
    except (ValueError, ArithmeticError):  # Python has no such date.
        try:
            return column.cast(pa.string()).to_pylist()
        except pa.ArrowException as error:
            raise InputError(
                f"a column of the type {str(column.type)[:60]} holds values that cannot be read; leave it out, or "
                "write it as strings"
            ) from error
    if pa.types.is_float32(column.type):  # The shortest number that is the same in 32 bits.
        return [None if value is None else float(str(np.float32(value))) for value in values]
    return values


def known_values(column: Any) -> Sequence[Any]:
    """The values of a Parquet column, of which none may be a time that Python does not know."""
    import pyarrow as pa

    if pa.types.is_temporal(column.type) and not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    values = values_of(column)
    if pa.types.is_timestamp(column.type) and any(str(value).startswith("<value out of range") for value in values):
        raise ValueError(f"a {column.type} is out of range")
    return values


def _json(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, dict):
        return {str(name): _json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if is_missing(value):
        return None
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if abs(float(value)) != float("inf") else None
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


def _arrow(column: Any) -> Any:
    """The column as an Arrow array; one without any value is of strings."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        return column
    values = values_of(column)
    array = pa.array([v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values])
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
