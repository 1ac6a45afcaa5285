"""Raw readers: a CSV, TSV, JSONL or Parquet file as a `Table` that can be gone over again.

What can be wrong with the rows of a file (quotes, JSON, Parquet) is raised here, what with its bytes in raw_files.py.
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
from typing import TYPE_CHECKING, Any

from subtaxa.data import raw_files
from subtaxa.data.raw_files import check_expansion, clean, empty, encoding_of, lines_of, open_text, readable
from subtaxa.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[Any, Any]
KINDS = {"csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
SUPPORTED = ".csv, .tsv, .tab, .jsonl, .ndjson (each also with .gz) and .parquet"
# Fed to the csv reader after the last line: swallowed only by a quote that never closes. No file can know it.
_END = f"\0end of file {secrets.token_hex()}\0"


class Table:
    """Named columns whose rows can be read as (text, label) pairs, or whole in chunks."""

    def __init__(self, name: str, columns: list[str]) -> None:
        self.name, self.columns = name, columns

    def pick(self, text: str, label: str) -> Iterator[Pair | str]:
        """For each row its two values, or a string: why the row cannot be used."""
        raise NotImplementedError

    def count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def whole(self, text: str, label: str) -> tuple[list[str], list[str]] | None:
        """Both columns at once, as `pick` would give them, where that is quicker: `clean` strings without any gap."""
        return None

    def cells(self, text: str) -> Iterator[list[Any]]:
        """All values of each row, as strings outside the text column; a row that would be lost is an error."""
        raise NotImplementedError

    def chunks(self, text: str, size: int) -> Iterator[pd.DataFrame]:
        """All columns, `size` rows at a time."""
        import pandas as pd

        rows = self.cells(text)
        while block := list(islice(rows, size)):
            yield pd.DataFrame(block, columns=self.columns, dtype=object)


class CsvTable(Table):
    """CSV or TSV as Python's csv module reads it: quotes around a field, doubled quotes inside, line breaks in quotes."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(str(path), next(self._rows(), []))
        if not self.columns:
            raise empty(path)

    def _rows(self) -> Iterator[list[str]]:
        """The header and then every row that is not blank; a blank line in a one-column file is an empty text."""
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
        return sum(1 for _ in self._rows()) - 1

    def _delimiter(self, first: str) -> str:
        return "\t" if self.kind == "tsv" else "," if "," in first else max(",;\t|", key=first.count)

    def whole(self, text: str, label: str) -> tuple[list[str], list[str]] | None:
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

    def pick(self, text: str, label: str) -> Iterator[Pair | str]:
        i, j, width = self.columns.index(text), self.columns.index(label), len(self.columns)
        for row in islice(self._rows(), 1, None):
            yield (row[i], row[j]) if len(row) == width else self._ragged(row)

    def cells(self, text: str) -> Iterator[list[Any]]:
        width = len(self.columns)
        for n, row in enumerate(islice(self._rows(), 1, None), 1):
            if len(row) > width:
                raise InputError(f"row {n} of {self.path} is a {self._ragged(row)}; take out the extra delimiters")
            yield row + [""] * (width - len(row))

    def _ragged(self, row: list[str]) -> str:
        return f"ragged row ({len(row)} field{'s' * (len(row) != 1)}, expected {len(self.columns)})"


class JsonTable(Table):
    """JSON Lines: one object per line, whose columns are all the keys of all the objects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(str(path), list(dict.fromkeys(key for row in self._rows() for key in row or ())))
        if not self.columns:
            fix = "write one object per line, as `jq -c '.[]'` makes of a JSON array"
            raise InputError(f"{path} has no line that is a JSON object with keys; {fix}")

    def _rows(self) -> Iterator[dict[str, Any] | None]:
        """The object of every line that is not blank, or None where there is none."""
        with open_text(self.path) as stream:
            for line in lines_of(stream, self.path):
                if line.strip():
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        row = None
                    yield row if isinstance(row, dict) else None

    def count(self) -> int:
        with open_text(self.path) as stream:
            return sum(1 for line in lines_of(stream, self.path) if line.strip())

    def pick(self, text: str, label: str) -> Iterator[Pair | str]:
        for row in self._rows():
            yield "invalid JSON" if row is None else (row.get(text), row.get(label))

    def cells(self, text: str) -> Iterator[list[Any]]:
        for n, row in enumerate(self._rows(), 1):
            if row is None:
                raise InputError(f"row {n} of {self.path} is invalid JSON; write one object per line")
            yield [row.get(name) if name == text else self._string(row.get(name)) for name in self.columns]

    @staticmethod
    def _string(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return "" if value is None else clean(text)


class ParquetTable(Table):
    """Parquet, read batch by batch with its own types; the whole file or some of its row groups."""

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
                file = pq.ParquetFile(stream, buffer_size=2**20)  # else a column of a row group is held whole
                groups = (file.metadata.row_group(i) for i in range(file.num_row_groups))
                check_expansion(self.path, sum(group.total_byte_size for group in groups))
                yield file
            except InputError:
                raise
            except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:  # so damage shows
                reason = repr(str(error).partition("\n")[0])
                raise InputError(f"{self.path} is not a complete Parquet file ({reason}); write it again") from error

    def _batches(self, file: Any, size: int, **options: Any) -> Iterator[Any]:
        """Some rows at a time, as long as there are not far more of them than the size of the file explains."""
        unpacked = 0
        for batch in file.iter_batches(size, **options):
            unpacked += batch.nbytes
            check_expansion(self.path, unpacked)
            yield batch

    def count(self) -> int:
        with self._file() as file:
            return int(file.metadata.num_rows)

    def pick(self, text: str, label: str) -> Iterator[Pair | str]:
        with self._file() as file:
            for batch in self._batches(file, 1024, columns=[text, label]):
                yield from zip(batch.column(text).to_pylist(), batch.column(label).to_pylist(), strict=True)

    def chunks(self, text: str, size: int) -> Iterator[pd.DataFrame]:
        with self._file() as file:
            for batch in self._batches(file, size, row_groups=self.row_groups):
                yield batch.to_pandas(integer_object_nulls=True, ignore_metadata=True)


def open_file(path: str | os.PathLike[str]) -> Table:
    """The table in a file, read by the ending of its name."""
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
        return ParquetTable(path)
    encoding_of(path)  # what the file is by its first bytes says more than an unknown ending
    if kind in ("csv", "tsv", "jsonl"):
        return JsonTable(path) if kind == "jsonl" else CsvTable(path, kind)
    raise InputError(f"{path} ends in none of the supported {SUPPORTED}; convert or rename it")
