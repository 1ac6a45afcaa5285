"""`subtaxa discover` and `assign` on a benchmark, as a user would run them, scored with the fine labels afterwards.

    python benchmarks/discover.py ../shared/data hwu64 [--seed 0] [--categories 64 or auto] >> results/discover.jsonl

It writes the training texts with their coarse labels to a CSV file, runs both commands as real processes, and prints
one JSON record: the scores of the training texts as `discover` filed them and of the test texts as `assign` did, and
the seconds that the commands took.
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
from collections.abc import Iterable, Sequence
from pathlib import Path

from subtaxa.bench.datasets import DATASETS, Part, load
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", type=Path, help="folder of the authors' files")
    options.add_argument("dataset", choices=DATASETS)
    options.add_argument("--seed", default="0")
    options.add_argument("--categories", help='their number, or "auto" (default: the true number)')
    options.add_argument("--out", type=Path, help="keep the run folder here")
    given = options.parse_args()
    data = load(given.dataset, given.data)
    categories = given.categories or str(data.n_fine)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        out, assigned = given.out or room / "run", room / "assigned.csv"
        texts = write(room / "train.csv", ["text", "label"], zip(data.train.texts, data.train.coarse, strict=True))
        new = write(room / "test.csv", ["text"], ([text] for text in data.test.texts))
        seconds = {
            "discover": run("discover", texts, "--categories", categories, "--seed", given.seed, "--out", str(out)),
            "assign": run("assign", str(out), new, "--out", str(assigned)),
        }
        record = {
            "command": f"benchmarks/discover.py {given.dataset} --seed {given.seed} --categories {categories}",
            "texts": {"train": len(data.train), "test": len(data.test)},
            "categories": len(column(out / "categories.csv", "category_id")),
            "train": scored(data.train, out / "assignments.csv"),
            "test": scored(data.test, assigned),
            "seconds": seconds,
            "cores": len(os.sched_getaffinity(0)),
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
