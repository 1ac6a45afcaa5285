"""The four protocols that score embeddings.

- `paper`: k-means on the test embeddings with the true number of categories.
- `best-inertia`: the same with one more start, from a Ward tree, if that reaches a lower inertia. With many categories,
  random starts rarely do, so this score depends less on luck.
- `centroid`: k-means on the training embeddings; each test text goes to the nearest centroid.
- `discover`: the categories that `subtaxa discover` finds inside each coarse label of the training texts; each test
  text goes to the nearest category.

N texts, D dimensions, K categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from subtaxa.bench.scoring import Score, score
from subtaxa.clustering.rules import cluster
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, means, unit

Ints = NDArray[np.int64]
# Random starts of k-means; a single one may be unlucky.
RESTARTS = 20


def kmeans(features: Floats, number: int, seed: int, restarts: int = RESTARTS) -> Ints:
    """The category of each text by scikit-learn's k-means, the best of several random starts."""
    return _random_starts(features, number, seed, restarts).labels_.astype(np.int64)


def _random_starts(features: Floats, number: int, seed: int, restarts: int) -> KMeans:
    with threadpool_limits(1, "openmp"):  # Several threads would sum in varying order.
        return KMeans(min(number, len(features)), n_init=restarts, random_state=seed).fit(features)


def _start_from_tree(features: Floats, number: int) -> KMeans:
    tree = WardTree(features)
    k = min(number, tree.n_leaves)
    with threadpool_limits(1, "openmp"):
        return KMeans(k, init=means(features, tree.cut(k), k)[0].astype(np.float32), n_init=1).fit(features)


def nearest_mean(features: Floats, assignment: Ints, new: Floats) -> Ints:
    """The nearest category mean of each new row. Both features and new rows are unit vectors."""
    names, index = np.unique(assignment, return_inverse=True)  # k-means may leave a category empty.
    centroids = unit(means(features, index, len(names))[0])  # (K, D)
    return np.asarray(names[(new @ centroids.T).argmax(1)], dtype=np.int64)


def nearest_discovered(train: Floats, coarse: Ints, test: Floats, number: int, seed: int) -> Ints:
    """The nearest category of each test row, among those that `subtaxa discover` finds below any coarse label."""
    with threadpool_limits(1, "openmp"):
        return cluster(train, coarse, number, seed).nearest(test)


def score_features(
    train: Floats, coarse: Ints, test: Floats, truth: Sequence[str], number: int, seed: int
) -> dict[str, Score]:
    """Scores by every protocol, from the features (N, D) of training and test texts.

    `coarse` holds the coarse label of each training text as a number (N,), `truth` the fine label of each test text.
    """
    on_train = kmeans(train, number, seed)
    on_test = _random_starts(test, number, seed, RESTARTS)
    best = min(on_test, _start_from_tree(test, number), key=lambda found: float(found.inertia_))
    scores = {
        "paper": score(truth, on_test.labels_),
        "best-inertia": score(truth, best.labels_),
        "centroid": score(truth, nearest_mean(train, on_train, test)),
    }
    # `discover` refuses fewer categories than labels, and more categories than distinct texts.
    with suppress(SettingError):
        scores["discover"] = score(truth, nearest_discovered(train, coarse, test, number, seed))
    return scores
