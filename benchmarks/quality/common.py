"""What the benchmarks share: real subtaxa processes on real CSV files."""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from subtaxa.bench.datasets import DATASETS, Dataset, Part
from subtaxa.bench.scoring import score


def options(about: str) -> argparse.ArgumentParser:
    """What every benchmark is told: where the data is, and which of it."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the authors' files")
    parser.add_argument("dataset", choices=DATASETS)
    return parser


def coarse_numbers(part: Part) -> torch.Tensor:
    """The coarse label of each text as a number (N,)."""
    return torch.from_numpy(np.unique(part.coarse, return_inverse=True)[1])


def run(*arguments: str, processes: int = 1) -> float:
    """Seconds that a subtaxa command takes, in several processes under torchrun if asked."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    begun = time.perf_counter()
    launcher = torchrun if processes > 1 else []
    subprocess.run([sys.executable, "-m", *launcher, "subtaxa", *arguments], check=True, stdout=sys.stderr)
    return round(time.perf_counter() - begun, 1)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def files(room: Path, data: Dataset, coarse: Sequence[str]) -> tuple[str, str]:
    """The training texts with coarse labels and the test texts without, each as a file."""
    texts = write(room / "train.csv", ["text", "label"], zip(data.train.texts, coarse, strict=True))
    return texts, write(room / "test.csv", ["text"], ([text] for text in data.test.texts))


def column(path: Path, name: str) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def scored(part: Part, path: Path) -> dict[str, float]:
    """The scores of a file of assignments, whose rows are in the part's order."""
    return {name: round(value, 2) for name, value in vars(score(part.fine, column(path, "category_id"))).items()}


def cores() -> int:
    return len(os.sched_getaffinity(0))
