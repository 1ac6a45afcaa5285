"""What the benchmarks share: real subtaxa processes on real CSV files."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from subtaxa.bench.datasets import Part
from subtaxa.bench.scoring import score


def run(*arguments: str) -> float:
    """Seconds that a subtaxa command takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "subtaxa", *arguments], check=True, stdout=sys.stderr)
    return round(time.perf_counter() - begun, 1)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def column(path: Path, name: str) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def scored(part: Part, path: Path) -> dict[str, float]:
    """The scores of a file of assignments, whose rows are in the part's order."""
    return {name: round(value, 2) for name, value in vars(score(part.fine, column(path, "category_id"))).items()}


def cores() -> int:
    return len(os.sched_getaffinity(0))
