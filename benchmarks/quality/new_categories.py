"""New texts of new categories: three fine categories are left out of training and come later.

    python benchmarks/new_categories.py ../shared/data hwu64 [--seed 0] >> results/new_categories.jsonl

The three are drawn at random from labels with three fine categories or more. `subtaxa discover` runs on the other
training texts; `subtaxa update` then gets the texts of the three and all test texts. A left-out category counts as
proposed if more than half of the texts of a new category are of it.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from common import column, cores, options, run, write

from subtaxa.bench.datasets import load

LEFT_OUT = 3


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="keep the run folder here")
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    children = defaultdict(set)
    for coarse, fine in zip(data.train.coarse, data.train.fine, strict=True):
        children[coarse].add(fine)
    candidates = sorted(fine for below in children.values() if len(below) >= LEFT_OUT for fine in below)
    rng = np.random.default_rng(given.seed)
    left_out = sorted(str(fine) for fine in rng.choice(candidates, LEFT_OUT, replace=False))
    rows = list(zip(data.train.texts, data.train.coarse, data.train.fine, strict=True))
    old = [row for row in rows if row[2] not in left_out]
    later = [row for row in rows if row[2] in left_out]
    later += zip(data.test.texts, data.test.coarse, data.test.fine, strict=True)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        out = given.out or room / "run"
        texts = write(room / "old.csv", ["text", "label"], (row[:2] for row in old))
        new = write(room / "new.csv", ["text", "label"], (row[:2] for row in later))
        seconds = {"discover": run("discover", texts, "--seed", str(given.seed), "--out", str(out))}
        before = set(column(out / "categories.csv", "category_id"))
        seconds["update"] = run("update", str(out), new, "--label", "label")
        fine = [row[2] for row in (*old, *later)]
        inside: dict[str, Counter[str]] = defaultdict(Counter)
        for category, truth in zip(column(out / "assignments.csv", "category_id"), fine, strict=True):
            inside[category][truth] += 1
        proposed = {i: counts.most_common(3) for i, counts in inside.items() if i not in before}
        found = {
            counts.most_common(1)[0][0]
            for i, counts in inside.items()
            if i not in before and 2 * counts.most_common(1)[0][1] > counts.total()
        }
    record = {
        "command": f"benchmarks/new_categories.py {given.dataset} --seed {given.seed}",
        "left_out": {name: sum(row[2] == name for row in later) for name in left_out},
        "proposed": list(proposed.values()),
        "left_out_proposed": sorted(found & set(left_out)),
        "seconds": seconds,
        "cores": cores(),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
