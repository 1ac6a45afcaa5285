"""Text as a terminal may show it: nothing in a text, a label or a file's name can drive the terminal."""

from __future__ import annotations

import io
from typing import IO


def printable(text: str) -> str:
    """Text without control characters: no escape sequences, no C1 codes, nothing that turns the reading direction."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


class PrintableBytes(io.BytesIO):
    """UTF-8 that goes on to a terminal, made printable."""

    def __init__(self, terminal: IO[bytes]) -> None:
        super().__init__()
        self.terminal = terminal

    def write(self, lines: bytes, /) -> int:  # type: ignore[override]
        return self.terminal.write(printable(lines.decode("utf-8", "replace")).encode())
