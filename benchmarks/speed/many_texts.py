"""Run `subtaxa discover` on very many texts: does it finish, how long does each step take, how much memory is needed?

    python benchmarks/speed/many_texts.py ../shared/data --texts 200000 --out many --epochs 1 --trained-layers 1

The texts are the training texts of all benchmarks (long ones are cut), and variants of them with a word left out or two
neighbouring words swapped, until there are enough distinct ones. The coarse labels are those of the benchmarks. Every
other option is passed to `discover`. Its progress lines are shown with the time of day; the last line is a JSON record.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from joblib import cpu_count

from subtaxa.bench.datasets import load

SOURCES = ("clinc", "hwu64", "wos-part")
# Words that are used of each text.
MOST_WORDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("--texts", type=int, default=200_000, help="number of texts (default: 200000)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the texts and the run")
    given, options = parser.parse_known_args()
    given.out.mkdir(parents=True, exist_ok=True)
    source = given.out / "texts.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *many(given.data, given.texts)])
    command = ["discover", str(source), "--out", str(given.out / "run"), *options]
    print("subtaxa", *command, flush=True)
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "subtaxa", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            print(f"{datetime.now():%H:%M:%S}  {line}", end="", flush=True)
    record = {
        "command": f"benchmarks/speed/many_texts.py --texts {given.texts} {' '.join(options)}",
        "minutes": round((time.perf_counter() - start) / 60, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 2),
        "megabytes": {
            path.name: round(path.stat().st_size / 1e6, 1)
            for path in sorted((given.out / "run").rglob("*.*"))
            if path.is_file() and path.stat().st_size > 1e6
        },
        "cores": cpu_count(),
    }
    print(json.dumps(record))
    return process.returncode


def many(folder: Path, number: int) -> list[tuple[str, str]]:
    """The wanted number of distinct texts, each with its coarse label."""
    parts = [load(name, folder).train for name in SOURCES]
    real = [
        (text.split()[:MOST_WORDS], f"{name} {label}")
        for name, part in zip(SOURCES, parts, strict=True)
        for text, label in zip(part.texts, part.coarse, strict=True)
    ]
    rng = random.Random(0)  # noqa: S311
    rng.shuffle(real)
    found = {" ".join(words): label for words, label in real[:number]}
    while len(found) < number:
        words, label = rng.choice(real)
        found.setdefault(" ".join(variant(words, rng)), label)
    return list(found.items())


def variant(words: list[str], rng: random.Random) -> list[str]:
    """The words without one of them, or with two neighbouring ones swapped."""
    i = rng.randrange(len(words))
    if rng.random() < 0.5 and len(words) > 2:
        return words[:i] + words[i + 1 :]
    return words[:i] + words[i : i + 2][::-1] + words[i + 2 :]


if __name__ == "__main__":
    sys.exit(main())
