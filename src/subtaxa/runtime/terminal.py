"""Makes text safe to print: no text, label or file name can send control sequences to the terminal."""

from __future__ import annotations

import io
import sys
from typing import IO, TextIO

from subtaxa.runtime.launcher import is_first_process


def printable(text: str) -> str:
    """The text without control characters: no escape sequences, no C1 codes, no change of the text direction."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def say(text: str = "", stream: TextIO | None = None) -> None:
    """Print a line; every command prints through this function.

    Characters that the stream's encoding lacks are replaced. Of several processes that a launcher started, only the
    first one prints.
    """
    stream = stream or sys.stdout
    if not is_first_process() or stream is None:  # Python has no stream where the shell has closed it.
        return
    code = stream.encoding or "utf-8"
    print(printable(text).encode(code, "replace").decode(code), file=stream, flush=True)


class PrintableBytes(io.BytesIO):
    """A binary stream that makes UTF-8 text printable and passes it on to a terminal."""

    def __init__(self, terminal: IO[bytes]) -> None:
        super().__init__()
        self.terminal = terminal

    def write(self, lines: bytes, /) -> int:  # type: ignore[override]
        return self.terminal.write(printable(lines.decode("utf-8", "replace")).encode())
