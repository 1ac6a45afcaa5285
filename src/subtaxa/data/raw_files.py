"""The bytes of a user's file as lines of text: compression, encoding, and limits on what is held in memory."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

from subtaxa.errors import InputError

# A file is refused if it unpacks to more than both of these: a multiple of its size, and a number of bytes.
MAX_EXPANSION, MAX_EXPANDED = 200, 2**26
# The longest line or value, in characters. The csv module's own default of 131,072 is too short.
MAX_FIELD = 2**26
_MAGIC = {
    b"PK\x03\x04": "is an Excel workbook or another zip archive; save it as CSV",
    b"\xd0\xcf\x11\xe0": "is an old Excel or Word file; save it as CSV",
    b"%PDF": "is a PDF document; save its texts as CSV",
    b"\x89PNG": "is a PNG image; give a file of texts",
    b"PAR1": "is a Parquet file; rename it to end in .parquet",
    b"\x1f\x8b": "is gzip-compressed; rename it to end in .gz, as in .csv.gz",
}
# UTF-32 comes before UTF-16, whose byte-order mark is the beginning of the one of UTF-32.
_BOMS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_BOMS |= {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class _Gzip(gzip.GzipFile):
    """A gzip stream that stops unpacking a decompression bomb."""

    def read1(self, size: int = -1) -> bytes:
        data = super().read1(size)
        check_expansion(Path(str(self.name)), self.tell())
        return data


def check_expansion(path: Path, size: int) -> None:
    """Refuse a file that unpacks to far more bytes than it has."""
    if size > MAX_EXPANDED and size > MAX_EXPANSION * path.stat().st_size:
        raise InputError(f"{path} unpacks to over {MAX_EXPANSION} times its size; unpack it yourself first")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the system's errors about an unreadable file into one sentence each."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except PermissionError:
        raise InputError(f"{path} cannot be read by this user; change its permissions") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file ({error}); compress it again") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}); check the file") from error


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if its name ends in .gz."""
    return _Gzip(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def empty(path: Path) -> InputError:
    """The error for a file without content."""
    return InputError(f"{path} is empty; it needs a header and at least one row")


def encoding_of(path: Path) -> str:
    """The encoding, told by the byte-order mark or by NUL bytes; a file that is not text is refused."""
    with readable(path), open_bytes(path) as stream:
        head = stream.read(2**16)
    if not head:
        raise empty(path)
    for magic, problem in _MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"{path} {problem}")
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > max(3, 0.15 * len(head) / 2) and 20 * min(even, odd) <= max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        binary = 10 * (even + odd) > len(head)  # A few NULs in a text do no harm.
    except UnicodeDecodeError:
        binary = even + odd > 0
    if binary:
        raise InputError(f"{path} is a binary file, not text; save it as CSV")
    return "utf-8"


def undecodable(path: Path, encoding: str) -> InputError:
    """The error that names the first undecodable byte; a text stream knows its position in the last block only."""
    decoder, end, lines, block, where = codecs.getincrementaldecoder(encoding)(), 0, 0, b"start", "a byte"
    with open_bytes(path) as stream:
        try:
            while block:
                lines += block.count(b"\n")
                block = stream.read(2**16)
                end += len(block)
                decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            offset = end - len(error.object) + error.start  # The block and error.object end together.
            line = lines + 1 + block[: max(0, offset - end + len(block))].count(b"\n")
            where = f"byte 0x{error.object[error.start]:02x} at offset {offset} (line {line})"
    zcat, name = (f"zcat {path} | ", "") if path.suffix.lower() == ".gz" else ("", f" {path}")
    fix = f"convert it, for example with `{zcat}iconv -f latin1 -t utf-8{name} > utf8-{path.name.removesuffix('.gz')}`"
    fix = fix if encoding.startswith("utf-8") else "save it again as UTF-8"
    return InputError(f"{path} is not {encoding.upper().removesuffix('-SIG')} text: {where} cannot be decoded; {fix}")


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The text of a file, decoded; line breaks are left as they are."""
    encoding = encoding_of(path)
    try:
        with readable(path), io.TextIOWrapper(open_bytes(path), encoding, newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise undecodable(path, encoding) from error


def lines_of(stream: IO[str], path: Path) -> Iterator[str]:
    """The lines of a text; one that is too long for memory is refused."""
    for number in count(1):
        line = stream.readline(MAX_FIELD + 1)
        if not line:
            return
        if len(line) > MAX_FIELD:
            raise InputError(f"line {number} of {path} has more than {MAX_FIELD:,} characters; break it into rows")
        yield line
