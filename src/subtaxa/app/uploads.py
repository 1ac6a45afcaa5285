"""A file that was dropped on the start page: stored with a limit, and looked into with the usual readers."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from subtaxa.data.columns import text_and_label
from subtaxa.data.readers import KINDS, SUPPORTED, Reader, open_file
from subtaxa.errors import InputError
from subtaxa.report.formatting import shorten

# The largest file in bytes.
MAX_UPLOAD = 2**30
# Rows that are read to guess the columns, and rows and columns that are shown.
READ_ROWS, SHOWN_ROWS, SHOWN_COLUMNS = 200, 5, 50
CELL_LENGTH = 160
# The longest file name in bytes.
MAX_NAME = 100


@dataclass(frozen=True)
class Upload:
    """A stored file. `name` is the one that it had on the user's disk, made safe."""

    number: int
    name: str
    path: Path


class Uploads:
    """Keeps the last file that was dropped, in a temporary folder."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="subtaxa-", ignore_cleanup_errors=True)
        self.folder, self._count = Path(self._temporary.name), 0
        self.last: Upload | None = None

    async def take(self, name: str, parts: AsyncIterator[bytes]) -> Upload:
        """Store a file."""
        name = safe_name(name)
        self._count += 1
        upload = Upload(self._count, name, self.folder / str(self._count) / name)
        upload.path.parent.mkdir()
        size = 0
        try:
            with upload.path.open("xb") as file:
                async for part in parts:
                    size += len(part)
                    if size > MAX_UPLOAD:
                        limit = MAX_UPLOAD // 2**20
                        raise InputError(f"the file is larger than {limit:,} MB: run subtaxa discover in a terminal")
                    file.write(part)
        except BaseException:
            shutil.rmtree(upload.path.parent)
            raise
        if self.last is not None:
            shutil.rmtree(self.last.path.parent, ignore_errors=True)
        self.last = upload
        return upload

    def get(self, number: int) -> Upload:
        """The file with this number, which must be the last one."""
        if self.last is None or self.last.number != number:
            raise InputError("another file has been dropped since then: choose its columns, or drop this one again")
        return self.last

    def close(self) -> None:
        """Remove what is stored. At the latest, that happens when the program ends."""
        self._temporary.cleanup()


def safe_name(name: str) -> str:
    """A file name without anything that has a meaning in a path, with a supported ending."""
    base = re.sub(r"[^\w.-]+", "-", re.split(r"[/\\]", name)[-1])
    base = base.encode()[-MAX_NAME:].decode(errors="ignore").lstrip(".-")
    stem, _, ending = base.lower().removesuffix(".gz").rpartition(".")
    if not stem or ending not in KINDS:
        raise InputError(f"{shorten(name, 60)!r} ends in none of the supported {SUPPORTED}: save it as one of them")
    return base


@contextmanager
def own_name(upload: Upload) -> Iterator[None]:
    """Errors about the file call it by the name that the user knows."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(upload.path), upload.name)) from error


def look_into(upload: Upload) -> dict[str, Any]:
    """The columns, the first rows, and which columns are probably the text and the label."""
    with own_name(upload):
        reader = open_file(upload.path)
        rows = _first_rows(reader)
        text, label = _guess(reader, rows)
    shown = range(min(len(reader.columns), SHOWN_COLUMNS))
    return {
        "upload": upload.number,
        "name": upload.name,
        "columns": reader.columns,
        "rows": [[shorten(row[i], CELL_LENGTH) for i in shown] for row in rows[:SHOWN_ROWS]],
        "text": text,
        "label": label,
    }


def _first_rows(reader: Reader) -> list[list[str]]:
    table = next(reader.tables(reader.columns[0], READ_ROWS))
    return [
        ["" if value is None else str(value) for value in row]
        for row in islice(zip(*table.columns, strict=True), READ_ROWS)
    ]


def _guess(reader: Reader, rows: list[list[str]]) -> tuple[str | None, str | None]:
    """The usual names count, otherwise the column with the longest texts; its label must be chosen."""

    def distinct(*names: str) -> tuple[int, int]:
        first, second = (len({row[reader.columns.index(name)] for row in rows}) for name in names)
        return first, second

    try:
        return text_and_label(reader.columns, None, None, reader.name, distinct)
    except InputError:
        lengths = [sum(len(row[i]) for row in rows) for i in range(len(reader.columns))]
        return reader.columns[lengths.index(max(lengths))], None
