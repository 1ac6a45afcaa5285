"""How many categories: seven estimators on the features of finished runs, against the true number below each label.

    python benchmarks/quality/number_of_categories.py ../shared/data hwu64 RUN

RUN is a folder that `benchmarks/discover.py ... --categories auto --out RUN` kept: its encoder was trained without
knowing the number. `subtaxa` is what it found, by its features after the first epoch; the others look at the features
after the last one, `judged at the end` by the same rule. ACC is that of the training texts when each estimate is
clustered the way `discover` does; `true number per label` and `true total` are there to compare with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import options
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

from subtaxa import Discovery
from subtaxa.bench.datasets import load
from subtaxa.bench.scoring import score
from subtaxa.clustering.clusters import Forest, categories, silhouettes
from subtaxa.clustering.number_of_categories import choose, readable
from subtaxa.runtime.arrays import Floats, Ints, means, unit

MOST = 30  # categories below a label that are tried


def judged_at_the_end(features: Floats, labels: Ints) -> list[int]:
    """The total whose categories are the clearest, shared out by one cut through all labels."""
    return [choice.chosen for choice in choose(Forest(features, labels))[1]]


def clearest_total(features: Floats, labels: Ints) -> list[int]:
    """One cut through all labels: the clearest."""
    forest = Forest(features, labels)
    rows = np.arange(len(features))

    def clear(total: int) -> float:
        return float(silhouettes(features, forest.cut(forest.share_out(total)), total, rows).mean())

    last = min(forest.most, 2 * readable(len(features)))
    return forest.share_out(max(np.unique(np.geomspace(len(forest.trees), last, 60).astype(int)).tolist(), key=clear))


def silhouette_per_label(features: Floats, labels: Ints) -> list[int]:
    """The best silhouette of k-means inside each label alone, which cannot find a single category."""

    def best(rows: Floats) -> int:
        scores = {}
        for k in range(2, min(MOST, len(rows) - 1) + 1):
            found = KMeans(k, n_init=1, random_state=0).fit_predict(rows).astype(np.int64)
            scores[k] = float(silhouettes(rows, found, k, np.arange(len(rows))).mean())
        return max(scores, key=lambda k: scores[k], default=1)

    return _each(features, labels, best)


def large_clusters(features: Floats, labels: Ints) -> list[int]:
    """DeepAligned's rule: too many clusters, of which those of at least average size count."""

    def count(rows: Floats) -> int:
        k = min(2 * MOST, len(rows) // 4 or 1)
        sizes = np.bincount(KMeans(k, n_init=3, random_state=0).fit_predict(rows), minlength=k)
        return max(1, int((sizes >= len(rows) / k).sum()))

    return _each(features, labels, count)


def gap(features: Floats, labels: Ints) -> list[int]:
    """The gap statistic (Tibshirani et al. 2001) inside each label, against rows of the same principal axes' ranges."""
    rng = np.random.default_rng(0)

    def spread(rows: Floats, k: int) -> float:
        return float(np.log(KMeans(k, n_init=1, random_state=0).fit(rows).inertia_ + 1e-9))

    def best(rows: Floats) -> int:
        rows = rows[:1000]
        axes = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2]
        turned = (rows - rows.mean(0)) @ axes.T
        blanks = [rng.uniform(turned.min(0), turned.max(0), turned.shape).astype(np.float32) for _ in range(3)]
        previous, k = None, 1
        for k in range(1, min(MOST, len(rows) - 1) + 1):
            logs = np.array([spread(blank, k) for blank in blanks])
            now = float(logs.mean() - spread(turned, k)), float(logs.std() * (1 + 1 / 3) ** 0.5)
            if previous is not None and previous[0] >= now[0] - now[1]:
                return k - 1
            previous = now
        return k

    return _each(features, labels, best)


def two_halves(features: Floats, labels: Ints) -> list[int]:
    """Stability: the smallest total for which two halves of the texts find about the same categories."""
    rng, least = np.random.default_rng(0), int(labels.max()) + 1
    totals = np.unique(np.geomspace(1.25 * least, 2 * readable(len(features)), 24).astype(int)).tolist()
    agreement = np.zeros(len(totals))
    for _ in range(4):
        half = np.zeros(len(features), dtype=bool)
        for label in range(least):
            members = rng.permutation(np.flatnonzero(labels == label))
            half[members[: len(members) // 2]] = True
        forests = [Forest(features[side], labels[side]) for side in (half, ~half)]
        for i, total in enumerate(totals):
            filed = [_filed(features, labels, forest, total) for forest in forests]
            for label in range(least):
                own = labels == label
                agreement[i] += own.mean() * adjusted_mutual_info_score(filed[0][own], filed[1][own])
    return Forest(features, labels).share_out(totals[int(np.flatnonzero(agreement >= 0.98 * agreement.max())[0])])


def _filed(features: Floats, labels: Ints, forest: Forest, total: int) -> Ints:
    """All texts filed under the nearest centroid of their label, when a half is cut into so many."""
    filed = np.empty(len(features), dtype=np.int64)
    for label, (tree, k) in enumerate(zip(forest.trees, forest.share_out(total), strict=True)):
        own = labels == label
        filed[own] = (features[own] @ unit(means(tree.features, tree.cut(k), k)[0]).T).argmax(1)
    return filed


def _each(features: Floats, labels: Ints, count: Callable[[Floats], int]) -> list[int]:
    return [count(features[labels == label]) for label in range(int(labels.max()) + 1)]


ESTIMATORS = {
    "judged at the end": judged_at_the_end,
    "clearest total": clearest_total,
    "silhouette per label": silhouette_per_label,
    "large clusters": large_clusters,
    "gap": gap,
    "two halves": two_halves,
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    data, model = load(given.dataset, given.data), Discovery.load(given.run)
    features = model.features_
    names, labels = np.unique(data.train.coarse, return_inverse=True)
    fine = np.array(data.train.fine)
    true = np.array([len(set(fine[labels == i])) for i in range(len(names))])
    forest = Forest(features, labels)
    rows = {"true number per label": true.tolist(), "true total": forest.share_out(int(true.sum()))}
    rows["subtaxa"] = [model.n_categories_[str(name)].chosen for name in names]
    seconds = {}
    for name, estimator in ESTIMATORS.items():
        begun = time.perf_counter()
        rows[name] = estimator(features, labels)
        seconds[name] = round(time.perf_counter() - begun, 1)
    for name, numbers in rows.items():
        off = np.array(numbers) - true
        clusters = categories(forest, [min(k, tree.most) for k, tree in zip(numbers, forest.trees, strict=True)])
        record = {
            "command": f"benchmarks/number_of_categories.py {given.dataset} {given.run.name}",
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
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
