r"""Give some texts a wrong coarse label: does subtaxa find them, and what do they cost?

    python benchmarks/quality/wrong_labels.py ../shared/data hwu64 [--flip 0.05] [--seed 0] \
        >> research/measurements/wrong_labels.jsonl

A share of the training texts gets another coarse label at random, then `subtaxa discover` runs on the result. The
program reports how many of the first rows of suspect_labels.csv were really flipped (as many rows as were flipped), and
the scores of the test texts in `assign`'s categories. Compare those with a run without flips
(benchmarks/quality/discover.py).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from common import column, options, run, scored, write_both_parts
from joblib import cpu_count

from subtaxa.bench.datasets import load


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--flip", type=float, default=0.05, help="share of the labels to change (default: 0.05)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--categories", help='number of categories, or "auto" (default: the true number)')
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    categories = given.categories or str(data.n_fine)
    rng = np.random.default_rng(given.seed)
    flipped = np.sort(rng.permutation(len(data.train))[: round(given.flip * len(data.train))])
    names = sorted(set(data.train.coarse))
    coarse = list(data.train.coarse)
    for i in flipped.tolist():
        coarse[i] = str(rng.choice([name for name in names if name != coarse[i]]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, test = write_both_parts(folder, data, coarse)
        out, assigned = folder / "run", folder / "assigned.csv"
        seconds = run("discover", train, "--categories", categories, "--seed", str(given.seed), "--out", str(out))
        run("assign", str(out), test, "--out", str(assigned))
        index = {int(number): i for i, number in enumerate(column(out / "assignments.csv", "row"))}
        listed = [index[int(number)] for number in column(out / "suspect_labels.csv", "row")]
        first = listed[: len(flipped)]
        record = {
            "command": f"benchmarks/quality/wrong_labels.py {given.dataset} --flip {given.flip} --seed {given.seed} "
            f"--categories {categories}",
            "flipped": len(flipped),
            "listed": len(listed),
            "precision_at_flipped": round(float(np.isin(first, flipped).sum() / max(1, len(first))), 3),
            "recall_at_flipped": round(float(np.isin(flipped, first).mean()), 3),
            "test": scored(data.test, assigned),
            "seconds": seconds,
            "cores": cpu_count(),
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
