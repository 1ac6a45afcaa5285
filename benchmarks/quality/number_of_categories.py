"""How many categories: every number estimator on the features of a finished run, against the true numbers.

    python benchmarks/quality/number_of_categories.py ../shared/data hwu64 RUN

RUN is a folder written by `benchmarks/quality/discover.py ... --categories auto --out RUN`. The row `subtaxa` is the
number that the run found, with its range. All other rows are estimates from its features (`--no-estimators` leaves
them out); `silhouette` is the default estimator, which also looks at the features before training. ACC is that of the
training texts when `discover` clusters them into each estimate. The rows `true number per label` and `true total` are
for comparison.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from common import options

from subtaxa import Discovery
from subtaxa.bench.datasets import load
from subtaxa.bench.scoring import score
from subtaxa.clustering.estimators import ESTIMATORS
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import numbers_per_label
from subtaxa.clustering.rules import find_categories
from subtaxa.encoders.lexical import concatenated
from subtaxa.training.fit_encoder import encoder_for


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--no-estimators", action="store_true")
    given = parser.parse_args()
    data, model = load(given.dataset, given.data), Discovery.load(given.run)
    features = model.features_
    names, labels = np.unique(data.train.coarse, return_inverse=True)
    fine = np.array(data.train.fine)
    true = np.array([len(set(fine[labels == i])) for i in range(len(names))])
    untrained = encoder_for(model.settings_).encode(data.train.texts).cpu().numpy()
    if model.vocabulary_ is not None:
        untrained = concatenated(untrained, model.vocabulary_.features(data.train.texts), model.vocabulary_.weight)
    forest = Forest(features, labels, untrained=untrained)
    rows = {"true number per label": true.tolist(), "true total": forest.divide(int(true.sum()))}
    counts = [model.n_categories_[str(name)] for name in names]
    rows["subtaxa"] = [count.chosen for count in counts]
    low, high = (np.array([getattr(count, end) for count in counts]) for end in ("low", "high"))
    seconds = {}
    for name in [] if given.no_estimators else ESTIMATORS.names():
        begun = time.perf_counter()
        rows[name] = [count.chosen for count in numbers_per_label(forest, estimator=ESTIMATORS.get(name)())]
        seconds[name] = round(time.perf_counter() - begun, 1)
    for name, numbers in rows.items():
        off = np.array(numbers) - true
        clusters = find_categories(
            forest, [min(k, tree.n_leaves) for k, tree in zip(numbers, forest.trees, strict=True)]
        )
        record = {
            "command": f"benchmarks/quality/number_of_categories.py {given.dataset} {given.run.name}",
            "estimator": name,
            "total": int(sum(numbers)),
            "true": int(true.sum()),
            "off_percent": round(100 * (sum(numbers) / int(true.sum()) - 1), 1),
            "within_one_percent": round(100 * float((abs(off) <= 1).mean()), 1),
            "single_found": f"{int((np.array(numbers)[true == 1] == 1).sum())} of {int((true == 1).sum())}",
            "acc": round(score(data.train.fine, clusters.nearest(features, labels)).acc, 1),
            "numbers": list(map(int, numbers)),
            "seconds": seconds.get(name),
        }
        if name == "subtaxa":
            record |= {
                "range": [int(low.sum()), int(high.sum())],
                "labels_in_range_percent": round(100 * float(((low <= true) & (true <= high)).mean()), 1),
                "range_width": round(float((high / low).mean()), 2),
            }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
