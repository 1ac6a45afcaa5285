"""`subtaxa discover` and `assign` on HWU64, as a user would run them, scored with the fine labels afterwards.

    python benchmarks/discover_hwu64.py ../shared/data [--seed 0] [--categories 64]

It writes the training texts with their coarse labels to a CSV file, runs both commands as real processes, scores the
assigned categories of the test texts, and prints one JSON record.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from subtaxa.bench.scoring import score

Rows = list[tuple[str, str]]


def read(path: Path) -> Rows:
    """Text and fine label of the well-formed rows; the files hold stray tabs."""
    lines = path.read_text("utf-8").splitlines()[1:]
    return [(row[0], row[1]) for row in (line.split("\t") for line in lines) if len(row) == 2]


def run(*arguments: str) -> float:
    """Seconds that a subtaxa command takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "subtaxa", *arguments], check=True)
    return time.perf_counter() - begun


def write(path: Path, rows: list[tuple[str, ...]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", type=Path, help="folder with hwu64/train.tsv and hwu64/test.tsv")
    options.add_argument("--seed", default="0")
    options.add_argument("--categories", default="64")
    options.add_argument("--out", type=Path, help="keep the run folder here")
    given = options.parse_args()
    train, test = read(given.data / "hwu64" / "train.tsv"), read(given.data / "hwu64" / "test.tsv")
    with tempfile.TemporaryDirectory() as room:
        out = str(given.out or Path(room) / "run")
        texts = write(Path(room) / "train.csv", [("text", "label"), *((t, fine.split("_")[0]) for t, fine in train)])
        new = write(Path(room) / "test.csv", [("text",), *((t,) for t, _ in test)])
        assigned = str(Path(room) / "assigned.csv")
        seconds = run("discover", texts, "--categories", given.categories, "--seed", given.seed, "--out", out)
        seconds_assign = run("assign", out, new, "--out", assigned)
        with Path(assigned).open(newline="", encoding="utf-8") as file:
            found = [row["category_id"] for row in csv.DictReader(file)]
    result = score([fine for _, fine in test], found)
    record = {
        "command": f"benchmarks/discover_hwu64.py --seed {given.seed} --categories {given.categories}",
        "texts": {"train": len(train), "test": len(test)},
        "categories": len(set(found)),
        "acc": round(result.acc, 2),
        "ari": round(result.ari, 2),
        "nmi": round(result.nmi, 2),
        "seconds": {"discover": round(seconds, 1), "assign": round(seconds_assign, 1)},
        "cores": len(os.sched_getaffinity(0)),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
