r"""Leave three fine categories out of training, add their texts later, and see whether `update` proposes them.

    python benchmarks/quality/new_categories.py ../shared/data hwu64 [--seed 0] \
        >> research/measurements/new_categories.jsonl

The three are drawn at random from coarse labels with at least three fine categories. `subtaxa discover` runs on the
other training texts; `subtaxa update` then gets the texts of the three and all test texts. A category that was left out
counts as proposed if it makes up more than half of the texts of a new category.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from common import column, options, run, write_csv
from joblib import cpu_count

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
    new = [row for row in rows if row[2] in left_out]
    new += zip(data.test.texts, data.test.coarse, data.test.fine, strict=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = given.out or folder / "run"
        old_file = write_csv(folder / "old.csv", ["text", "label"], (row[:2] for row in old))
        new_file = write_csv(folder / "new.csv", ["text", "label"], (row[:2] for row in new))
        seconds = {"discover": run("discover", old_file, "--seed", str(given.seed), "--out", str(out))}
        before = set(column(out / "categories.csv", "category_id"))
        seconds["update"] = run("update", str(out), new_file, "--label", "label")
        fine = [row[2] for row in (*old, *new)]
        members: dict[str, Counter[str]] = defaultdict(Counter)
        for category, truth in zip(column(out / "assignments.csv", "category_id"), fine, strict=True):
            members[category][truth] += 1
    proposed = [counts for category, counts in members.items() if category not in before]
    majorities = {
        counts.most_common(1)[0][0] for counts in proposed if 2 * counts.most_common(1)[0][1] > counts.total()
    }
    record = {
        "command": f"benchmarks/quality/new_categories.py {given.dataset} --seed {given.seed}",
        "left_out": {name: sum(row[2] == name for row in new) for name in left_out},
        "proposed": [counts.most_common(3) for counts in proposed],
        "left_out_proposed": sorted(majorities & set(left_out)),
        "seconds": seconds,
        "cores": cpu_count(),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
