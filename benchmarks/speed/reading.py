"""Reading a million rows of CSV, against the bare parser and the Python strings that anybody needs of them.

The rest of the time goes into checks that the careful reader would read the same: that all bytes are UTF-8, that quotes
stand where the standard has them, that no text and no label is blank. They use one core, the parser uses all.
"""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

from pyarrow import csv as arrow
from speed.rows import Row, seconds

from subtaxa import read_texts

ROWS = 1_000_000
WORDS = ("the order", "was charged twice", "please send", "a refund", "my account", "is locked", "naïve", "café")


def write(path: Path, rows: int) -> None:
    """Short messages, some with a comma or a quotation, with an id and a label."""
    rng = random.Random(0)  # noqa: S311
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        for i in range(rows):
            text = " ".join(rng.choices(WORDS, k=4))
            text += (", isn't it", ' says "no"', "", "")[i % 4]
            writer.writerow([i, text, f"label {i % 12}"])


def measure(rows: int = ROWS) -> list[Row]:
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "million.csv"
        write(path, rows)

        def bare() -> None:
            table = arrow.read_csv(path)
            for name in ("text", "label"):
                table.column(name).to_pylist()

        def python() -> None:
            with path.open(newline="", encoding="utf-8") as file:
                sum(1 for _ in csv.reader(file))

        assert len(read_texts(path)) == rows
        turns = [[seconds(work, 1) for work in (lambda: read_texts(path), bare, python)] for _ in range(5)]
        ours, parser, slow = (min(spent) for spent in zip(*turns, strict=True))
    how = f"{rows:,} rows in {ours:.1f} s; bare pyarrow and to_pylist {parser:.1f} s, bare csv module {slow:.1f} s"
    return [Row("reading CSV, against the bare parser and its strings", ours / parser, 3, False, how)]
