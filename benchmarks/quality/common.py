"""Helpers that the quality benchmarks share: they run real subtaxa processes on real CSV files."""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from subtaxa.bench.datasets import DATASETS, Dataset, Part
from subtaxa.bench.scoring import score


def options(docstring: str) -> argparse.ArgumentParser:
    """A parser with the two arguments of every quality benchmark: the data folder and the data set."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("dataset", choices=DATASETS)
    return parser


def run(*arguments: str, processes: int = 1) -> float:
    """Run a subtaxa command and return its seconds. With several processes, torchrun starts it."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    start = time.perf_counter()
    launcher = torchrun if processes > 1 else []
    subprocess.run([sys.executable, "-m", *launcher, "subtaxa", *arguments], check=True, stdout=sys.stderr)
    return round(time.perf_counter() - start, 1)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV file and return its path as a string."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def write_both_parts(folder: Path, data: Dataset, coarse: Sequence[str]) -> tuple[str, str]:
    """Write the training texts with coarse labels and the test texts without labels, one CSV file each."""
    train = write_csv(folder / "train.csv", ["text", "label"], zip(data.train.texts, coarse, strict=True))
    return train, write_csv(folder / "test.csv", ["text"], ([text] for text in data.test.texts))


def column(path: Path, name: str) -> list[str]:
    """The values of one column of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def scored(part: Part, path: Path) -> dict[str, float]:
    """The scores of a file of assignments. Its rows must be in the order of the part."""
    return {name: round(value, 2) for name, value in vars(score(part.fine, column(path, "category_id"))).items()}
