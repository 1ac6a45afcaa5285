"""Readers: the rows of a CSV, TSV, JSON Lines or Parquet file, which can be read more than once.

Errors about rows (quotes, JSON, Parquet) are raised here, errors about bytes in raw_files.py.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from subtaxa.data import raw_files
from subtaxa.data.columns import text_column
from subtaxa.data.raw_files import check_expansion, empty, encoding_of, lines_of, open_text, readable
from subtaxa.data.tables import Table, known_values, values_of
from subtaxa.data.values import CleanTexts, clean, is_missing, is_nested, shortened
from subtaxa.errors import InputError

Pair = tuple[Any, Any]
CHUNK_ROWS = 50_000
KINDS = {"csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
SUPPORTED = ".csv, .tsv, .tab, .jsonl, .ndjson (each also with .gz) and .parquet"
# The csv reader gets this line after the last one. It is random, so that no file can contain it.
# Only a quote that is never closed makes it part of a value.
_END = f"\0end of file {secrets.token_hex()}\0"


class Reader:
    """Named columns whose rows can be read as (text, label) pairs, or with all columns as tables."""

    def __init__(self, name: str, columns: list[str]) -> None:
        self.name, self.columns = name, columns

    def pairs(self, text: str, label: str) -> Iterator[Pair | str]:
        """The text and the label of each row, or a string that says why the row cannot be used."""
        raise NotImplementedError

    def whole_columns(self, text: str, label: str) -> tuple[list[str], list[str]] | None:
        """What `pairs` gives as two lists of clean strings, where that is faster and no row is unusable."""
        return None

    def count(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def rows(self, text: str) -> Iterator[Sequence[Any]]:
        """The values of each row, all but the text as strings. A row that cannot be read is an error."""
        raise NotImplementedError

    def cells(self, chosen: Sequence[int]) -> Iterator[Sequence[Any]]:
        """The values of some columns, given by position, of every row that `pairs` gives; None where there is none."""
        raise NotImplementedError

    def tables(self, text: str, size: int = CHUNK_ROWS) -> Iterator[Table]:
        """All rows and columns, `size` rows at a time. No row is left out; the texts are clean strings.

        A missing text is "". The other values are strings too, or have the types of a Parquet file.
        """
        done = 0
        for table in self._tables(text, size):
            columns, index = list(table.columns), table.names.index(text)
            columns[index] = _clean_texts(table[text], done + 1, self.name)
            done += len(table)
            yield Table(table.names, tuple(columns))
        if not done:
            raise InputError(f"{self.name} has no rows below its column names; add at least one text")

    def _tables(self, text: str, size: int) -> Iterator[Table]:
        rows, names = self.rows(text), tuple(self.columns)
        while block := list(islice(rows, size)):
            yield Table(names, tuple(map(list, zip(*block, strict=True))))


def _clean_texts(values: Sequence[Any], first_row: int, name: str) -> CleanTexts:
    for row, value in enumerate(values, first_row):
        if is_nested(value):
            raise InputError(f"row {row} of {name} has a text that is not a string, {shortened(value)}; correct it")
    return CleanTexts("" if is_missing(value) else clean(str(value)) for value in values)


class CsvReader(Reader):
    """CSV or TSV as Python's csv module reads it: a quoted field may hold delimiters, line breaks, doubled quotes."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(str(path), next(self._records(), []))
        if not self.columns:
            raise empty(path)

    def _records(self) -> Iterator[list[str]]:
        """The header, then every row that is not blank; in a file of one column, a blank line is an empty text."""
        csv.field_size_limit(raw_files.MAX_FIELD)
        with open_text(self.path) as stream:
            rows = lines_of(stream, self.path)
            blank, first = next(((n, line) for n, line in enumerate(rows) if line.strip()), (0, ""))
            comma = self._delimiter(first)
            reader = csv.reader(chain([first], rows, [_END]), delimiter=comma)
            width, begin = 0, 1
            try:
                for row in reader:
                    if row and row[-1].endswith(_END):
                        if row == [_END]:
                            return
                        raise csv.Error
                    width = width or len(row)
                    begin = reader.line_num + 1
                    if row or width == 1:
                        yield row or [""]
            except csv.Error as error:
                long = (
                    f"has a value of more than {raw_files.MAX_FIELD:,} characters, or " if "limit" in str(error) else ""
                )
                problem = f"the row at line {blank + begin} of {self.path} {long}opens a quote that is never closed"
                fix = 'close it, or enclose the whole value in quotes and write each quote inside twice ("")'
                raise InputError(f"{problem}; {fix}") from None

    def count(self) -> int:
        return sum(1 for _ in self._records()) - 1

    def _delimiter(self, first: str) -> str:
        return "\t" if self.kind == "tsv" else "," if "," in first else max(",;\t|", key=first.count)

    def whole_columns(self, text: str, label: str) -> tuple[list[str], list[str]] | None:
        from subtaxa.data.fast_csv import two_columns

        if self.path.suffix.lower() == ".gz" or not encoding_of(self.path).startswith("utf-8"):
            return None
        with open_text(self.path) as stream:
            first = next(lines_of(stream, self.path), "")
        if not first.strip():
            return None
        chosen = self.columns.index(text), self.columns.index(label)
        comma, width = self._delimiter(first), len(self.columns)
        with readable(self.path):
            return two_columns(self.path, comma, width, chosen, raw_files.MAX_FIELD)

    def pairs(self, text: str, label: str) -> Iterator[Pair | str]:
        i, j, width = self.columns.index(text), self.columns.index(label), len(self.columns)
        for row in islice(self._records(), 1, None):
            yield (row[i], row[j]) if len(row) == width else self._ragged(row)

    def rows(self, text: str) -> Iterator[Sequence[Any]]:
        width = len(self.columns)
        for n, row in enumerate(islice(self._records(), 1, None), 1):
            if len(row) > width:
                raise InputError(f"row {n} of {self.path} is a {self._ragged(row)}; remove the extra delimiters")
            yield row + [""] * (width - len(row))

    def cells(self, chosen: Sequence[int]) -> Iterator[Sequence[Any]]:
        for row in islice(self._records(), 1, None):
            yield [row[i] if i < len(row) else None for i in chosen]

    def _ragged(self, row: list[str]) -> str:
        return f"ragged row ({len(row)} field{'s' * (len(row) != 1)}, expected {len(self.columns)})"


class JsonLinesReader(Reader):
    """JSON Lines: one object per line. The columns are the keys of all objects, so the file is read once for them."""

    def __init__(self, path: Path) -> None:
        self.path, self._count = path, 0
        keys: dict[str, None] = {}
        for record in self._records():
            keys.update(dict.fromkeys(record or ()))
            self._count += 1
        super().__init__(str(path), list(keys))
        if not self.columns:
            fix = "write one object per line, as `jq -c '.[]'` makes of a JSON array"
            raise InputError(f"{path} has no line that is a JSON object with keys; {fix}")

    def _records(self) -> Iterator[dict[str, Any] | None]:
        """The object on each line that is not blank, or None if the line is not an object."""
        with open_text(self.path) as stream:
            for line in lines_of(stream, self.path):
                if line.strip():
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        row = None
                    if isinstance(row, dict) and "\\u" in line:
                        row = {clean(name): value for name, value in row.items()}
                    yield row if isinstance(row, dict) else None

    def count(self) -> int:
        return self._count

    def pairs(self, text: str, label: str) -> Iterator[Pair | str]:
        for row in self._records():
            yield "invalid JSON" if row is None else (row.get(text), row.get(label))

    def rows(self, text: str) -> Iterator[Sequence[Any]]:
        for n, row in enumerate(self._records(), 1):
            if row is None:
                raise InputError(f"row {n} of {self.path} is invalid JSON; write one object per line")
            yield [row.get(name) if name == text else self._string(row.get(name)) for name in self.columns]

    def cells(self, chosen: Sequence[int]) -> Iterator[Sequence[Any]]:
        names = [self.columns[i] for i in chosen]
        for row in self._records():
            yield [self._string((row or {}).get(name)) for name in names]

    @staticmethod
    def _string(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return "" if value is None else clean(text)


class ParquetReader(Reader):
    """Parquet, read batch by batch with its types; the whole file, or some of its row groups."""

    def __init__(self, path: Path, row_groups: Sequence[int] | None = None) -> None:
        self.path, self.row_groups = path, row_groups
        with self._file() as file:
            super().__init__(str(path), list(file.schema_arrow.names))

    @contextmanager
    def _file(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with readable(self.path), self.path.open("rb") as stream:
            try:
                file = pq.ParquetFile(stream, buffer_size=2**20)  # Without it, whole columns are buffered.
                groups = (file.metadata.row_group(i) for i in range(file.num_row_groups))
                check_expansion(self.path, sum(group.total_byte_size for group in groups))
                yield file
            except InputError:
                raise
            except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
                reason = repr(str(error).partition("\n")[0])
                raise InputError(f"{self.path} is not a complete Parquet file ({reason}); write it again") from error

    def _batches(self, file: Any, size: int, **options: Any) -> Iterator[Any]:
        """Some rows at a time; a file that unpacks to far more bytes than it has is refused."""
        unpacked = 0
        for batch in file.iter_batches(size, **options):
            unpacked += batch.nbytes
            check_expansion(self.path, unpacked)
            yield batch

    def count(self) -> int:
        with self._file() as file:
            return int(file.metadata.num_rows)

    def pairs(self, text: str, label: str) -> Iterator[Pair | str]:
        with self._file() as file:
            for batch in self._batches(file, 1024, columns=[text, label]):
                yield from zip(*(known_values(batch.column(name)) for name in (text, label)), strict=True)

    def cells(self, chosen: Sequence[int]) -> Iterator[Sequence[Any]]:
        with self._file() as file:
            for batch in self._batches(file, 1024):
                batch.validate(full=True)
                yield from zip(*(values_of(batch.column(i)) for i in chosen), strict=True)

    def _tables(self, text: str, size: int) -> Iterator[Table]:
        with self._file() as file:
            for batch in self._batches(file, size, row_groups=self.row_groups):
                batch.validate(full=True)
                yield Table(tuple(batch.schema.names), tuple(batch.columns))


def open_file(path: str | os.PathLike[str]) -> Reader:
    """The reader of a file, chosen by the ending of its name."""
    path = Path(path)
    with readable(path):
        info = path.stat()
    if stat.S_ISDIR(info.st_mode):
        raise InputError(f"{path} is a directory; give a file in it")
    if not stat.S_ISREG(info.st_mode):
        raise InputError(f"{path} is not a regular file; save its contents to one first")
    if not info.st_size:
        raise empty(path)
    kind = KINDS.get(path.name.lower().removesuffix(".gz").rpartition(".")[2])
    if kind == "parquet" and path.suffix.lower() != ".gz":
        return ParquetReader(path)
    encoding_of(path)  # An error about the first bytes is more helpful than one about an unknown ending.
    if kind in ("csv", "tsv", "jsonl"):
        return JsonLinesReader(path) if kind == "jsonl" else CsvReader(path, kind)
    raise InputError(f"{path} ends in none of the supported {SUPPORTED}; convert or rename it")


def iter_tables(
    path: str | os.PathLike[str],
    text: str | None = None,
    *,
    chunk_rows: int = CHUNK_ROWS,
    row_groups: Sequence[int] | None = None,
) -> Iterator[Table]:
    """All rows and columns of a file of new texts, `chunk_rows` at a time; of Parquet, optionally some row groups."""
    reader = open_file(path) if row_groups is None else ParquetReader(Path(path), row_groups)
    return reader.tables(text_column(reader.columns, text, reader.name), chunk_rows)
