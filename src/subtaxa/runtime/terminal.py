"""Text as a terminal may show it: nothing in a text, a label or a file's name can drive the terminal."""

from __future__ import annotations

import io
import sys
from typing import IO, TextIO

from subtaxa.runtime.launcher import first


def printable(text: str) -> str:
    """Text without control characters: no escape sequences, no C1 codes, nothing that turns the reading direction."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def say(text: str = "", stream: TextIO | None = None) -> None:
    """The one place where commands print, as far as the stream's encoding has letters for it. Of processes that a
    launcher started, only the first prints."""
    if not first():
        return
    stream = stream or sys.stdout
    code = stream.encoding or "utf-8"
    print(printable(text).encode(code, "replace").decode(code), file=stream, flush=True)


class PrintableBytes(io.BytesIO):
    """UTF-8 that goes on to a terminal, made printable."""

    def __init__(self, terminal: IO[bytes]) -> None:
        super().__init__()
        self.terminal = terminal

    def write(self, lines: bytes, /) -> int:  # type: ignore[override]
        return self.terminal.write(printable(lines.decode("utf-8", "replace")).encode())
