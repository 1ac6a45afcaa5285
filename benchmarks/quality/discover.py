"""`subtaxa discover` and `assign` on a benchmark, as a user would run them, scored with the fine labels afterwards.

    python benchmarks/discover.py ../shared/data hwu64 [--seed 0] [--categories 64 or auto] >> results/discover.jsonl

It writes the training texts with their coarse labels to a CSV file, runs both commands as real processes, and prints
one JSON record: the scores of the training texts as `discover` filed them and of the test texts as `assign` did, and
the seconds that the commands took. Any further option goes to `discover`, for instance --engine ray --workers 2.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from common import column, cores, files, options, run, scored

from subtaxa.bench.datasets import load


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--categories", help='their number, or "auto" (default: the true number)')
    parser.add_argument("--out", type=Path, help="keep the run folder here")
    parser.add_argument("--processes", type=int, default=1, help="of discover, under torchrun (default: 1)")
    given, more = parser.parse_known_args()
    data = load(given.dataset, given.data)
    categories = given.categories or str(data.n_fine)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        out, assigned = given.out or room / "run", room / "assigned.csv"
        texts, new = files(room, data, data.train.coarse)
        how = ["--seed", given.seed, "--categories", categories, *more]
        several = f" --processes {given.processes}" if given.processes > 1 else ""
        seconds = {
            "discover": run("discover", texts, *how, "--out", str(out), processes=given.processes),
            "assign": run("assign", str(out), new, "--out", str(assigned)),
        }
        record = {
            "command": f"benchmarks/discover.py {given.dataset} {' '.join(how)}{several}",
            "texts": {"train": len(data.train), "test": len(data.test)},
            "categories": len(column(out / "categories.csv", "category_id")),
            "train": scored(data.train, out / "assignments.csv"),
            "test": scored(data.test, assigned),
            "seconds": seconds,
            "cores": cores(),
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
