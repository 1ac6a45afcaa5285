"""Coarse labels that are wrong: are they found, and what do they cost?

    python benchmarks/wrong_labels.py ../shared/data hwu64 [--flip 0.05] [--seed 0] >> results/wrong_labels.jsonl

A share of the training texts gets another coarse label at random. `subtaxa discover` runs on the result; what counts is
how many of the first so many texts of its suspect_labels.csv were really flipped, and the ACC of the test texts as
`assign` files them, to be compared with a run without flips (benchmarks/discover.py).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from common import column, cores, files, options, run, scored

from subtaxa.bench.datasets import load


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--flip", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--categories", help='their number, or "auto" (default: the true number)')
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    categories = given.categories or str(data.n_fine)
    rng = np.random.default_rng(given.seed)
    flipped = np.sort(rng.permutation(len(data.train))[: round(given.flip * len(data.train))])
    names = sorted(set(data.train.coarse))
    coarse = list(data.train.coarse)
    for i in flipped.tolist():
        coarse[i] = str(rng.choice([name for name in names if name != coarse[i]]))
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        texts, new = files(room, data, coarse)
        out, assigned = room / "run", room / "assigned.csv"
        seconds = run("discover", texts, "--categories", categories, "--seed", str(given.seed), "--out", str(out))
        run("assign", str(out), new, "--out", str(assigned))
        row = {int(number): i for i, number in enumerate(column(out / "assignments.csv", "row"))}
        listed = [row[int(number)] for number in column(out / "suspect_labels.csv", "row")]
        first = listed[: len(flipped)]
        record = {
            "command": f"benchmarks/wrong_labels.py {given.dataset} --flip {given.flip} --seed {given.seed} "
            f"--categories {categories}",
            "flipped": len(flipped),
            "listed": len(listed),
            "precision_at_flipped": round(float(np.isin(first, flipped).sum() / max(1, len(first))), 3),
            "recall_at_flipped": round(float(np.isin(flipped, first).mean()), 3),
            "test": scored(data.test, assigned),
            "seconds": seconds,
            "cores": cores(),
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
