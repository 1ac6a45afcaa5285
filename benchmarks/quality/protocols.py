"""Score the features of finished runs by every protocol of `subtaxa bench`.

    python benchmarks/quality/protocols.py ../shared/data hwu64 RUN [RUN ...] >> research/measurements/protocols.jsonl

Each RUN is a folder that `benchmarks/quality/discover.py DATA DATASET --categories auto --out RUN` kept. Training does
not depend on the number of categories; the protocols get the true one. The program prints one JSON record for each run,
with the digest of the code that scores it. That of the training is the same if the run was made at the same commit.
"""

from __future__ import annotations

import json
from pathlib import Path

from common import options

from subtaxa import Discovery
from subtaxa.bench.code_digest import code_of
from subtaxa.bench.datasets import load
from subtaxa.bench.protocols import score_features


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    for run in given.runs:
        model = Discovery.load(run)
        if model.data_.texts != tuple(data.train.texts):
            raise SystemExit(f"{run} is not a run of {given.dataset}: its texts differ")
        test = model.transform(list(data.test.texts))  # (n, D)
        found = score_features(model.features_, data.train.coarse_codes, test, data.test.fine, data.n_fine, model.seed)
        scores = {name: [round(value, 1) for value in vars(each).values()] for name, each in found.items()}
        record = {
            "benchmark": "protocols",
            "dataset": given.dataset,
            "seed": model.seed,
            "scores": scores,
            "code": code_of("soft-dna", pretrained=False)["digest"],
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
