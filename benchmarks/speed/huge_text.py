"""Measure the peak memory of `discover --preset quick` and `assign` with one text of 20 MB among 200 short ones.

    python benchmarks/speed/huge_text.py [--megabytes 20]

The short texts are the first of the built-in example. Both commands run as real processes, first without and then with
the huge text. The program prints one JSON record with the largest resident size of each process.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from pathlib import Path

from subtaxa.data.example import example_texts

N_SHORT = 200


def peak_mb(*arguments: str) -> int:
    """The largest resident size, in MB, of a subtaxa command."""
    command = [sys.executable, "-m", "subtaxa", *arguments, "--quiet"]
    to_stderr = [(os.POSIX_SPAWN_DUP2, 2, 1)]
    child = os.posix_spawn(sys.executable, command, dict(os.environ), file_actions=to_stderr)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{arguments[0]} failed with exit code {os.waitstatus_to_exitcode(status)}")
    return round(usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=20)
    given = parser.parse_args()
    data = example_texts()
    step = len(data) // N_SHORT  # The example is sorted by label.
    rows = list(zip(data.texts, data.labels, strict=True))[::step][:N_SHORT]
    words = " ".join(text for text, _ in rows)
    huge = (words * (given.megabytes * 2**20 // len(words) + 1))[: given.megabytes * 2**20]
    record = {"command": f"benchmarks/speed/huge_text.py --megabytes {given.megabytes}", "peak_mb": {}}
    with tempfile.TemporaryDirectory() as name:
        for kind, more in (("200 texts", []), ("and a huge one", [(huge, rows[0][1])])):
            folder = Path(name, kind)
            folder.mkdir()
            with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("text", "label"), *rows, *more])
            texts, run = str(folder / "texts.csv"), str(folder / "run")
            record["peak_mb"][kind] = {
                "discover": peak_mb("discover", texts, "--preset", "quick", "--out", run),
                "assign": peak_mb("assign", run, texts, "--out", str(folder / "assigned.csv")),
            }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
