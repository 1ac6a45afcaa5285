r"""Run `subtaxa discover` and `subtaxa assign` on a benchmark as a user would, and score the result.

    python benchmarks/quality/discover.py ../shared/data hwu64 [--seed 0] [--categories 64 or auto] \
        >> research/measurements/discover.jsonl

The program writes the training texts with their coarse labels to a CSV file, runs both commands as real processes, and
prints one JSON record: the scores of the training texts in `discover`'s categories, the scores of the test texts in
`assign`'s categories, and the seconds of each command. Fine labels are used for scoring only. Other options are passed
to `discover`, for instance `--engine ray --workers 2`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from common import column, options, run, scored, write_both_parts
from joblib import cpu_count

from subtaxa.bench.datasets import load


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--categories", help='number of categories, or "auto" (default: the true number)')
    parser.add_argument("--out", type=Path, help="keep the run folder here")
    parser.add_argument("--processes", type=int, default=1, help="processes of discover, under torchrun (default: 1)")
    given, more = parser.parse_known_args()
    data = load(given.dataset, given.data)
    categories = given.categories or str(data.n_fine)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out, assigned = given.out or folder / "run", folder / "assigned.csv"
        train, test = write_both_parts(folder, data, data.train.coarse)
        passed = ["--seed", given.seed, "--categories", categories, *more]
        several = f" --processes {given.processes}" if given.processes > 1 else ""
        seconds = {
            "discover": run("discover", train, *passed, "--out", str(out), processes=given.processes),
            "assign": run("assign", str(out), test, "--out", str(assigned)),
        }
        record = {
            "command": f"benchmarks/quality/discover.py {given.dataset} {' '.join(passed)}{several}",
            "texts": {"train": len(data.train), "test": len(data.test)},
            "categories": len(column(out / "categories.csv", "category_id")),
            "train": scored(data.train, out / "assignments.csv"),
            "test": scored(data.test, assigned),
            "seconds": seconds,
            "cores": cpu_count(),
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
