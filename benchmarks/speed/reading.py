"""Read a million rows of CSV, and compare with the bare parser plus the Python strings that any reader must make.

The remaining time is spent on checks: every byte is UTF-8, quotes are where the standard has them, no text and no label
is blank. The checks use one core, the parser uses all of them.
"""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

from measurement import Measurement, seconds
from pyarrow import csv as arrow

from subtaxa import read_texts

ROWS = 1_000_000
PHRASES = ("the order", "was charged twice", "please send", "a refund", "my account", "is locked", "naïve", "café")


def write_messages(path: Path, rows: int) -> None:
    """Write short messages with an id and a label. Some have a comma or a quotation."""
    rng = random.Random(0)  # noqa: S311
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        for i in range(rows):
            text = " ".join(rng.choices(PHRASES, k=4))
            text += (", isn't it", ' says "no"', "", "")[i % 4]
            writer.writerow([i, text, f"label {i % 12}"])


def measure(rows: int = ROWS) -> list[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        write_messages(path, rows)

        def by_pyarrow() -> None:
            table = arrow.read_csv(path)
            for name in ("text", "label"):
                table.column(name).to_pylist()

        def by_csv_module() -> None:
            with path.open(newline="", encoding="utf-8") as file:
                sum(1 for _ in csv.reader(file))

        assert len(read_texts(path)) == rows
        turns = [[seconds(work, 1) for work in (lambda: read_texts(path), by_pyarrow, by_csv_module)] for _ in range(5)]
        ours, parser, slow = (min(spent) for spent in zip(*turns, strict=True))
    how = f"{rows:,} rows in {ours:.1f} s; pyarrow with to_pylist {parser:.1f} s, csv module {slow:.1f} s"
    return [Measurement("reading CSV, relative to the bare parser and its strings", ours / parser, 3, False, how)]
