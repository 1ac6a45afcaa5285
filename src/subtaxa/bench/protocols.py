"""The four ways of scoring embeddings, and the neighbours' accuracy.

`paper`: k-means on the test embeddings with the true number. `lowest`: the same with one more start, from a Ward tree,
which finds a lower inertia where categories are many: less luck, more of what the embeddings are worth. `centroid`:
k-means on the training embeddings, each test text goes to the nearest centroid. `discover`: the same with the
categories that `subtaxa discover` finds, inside each coarse label of the training texts. N texts, D dimensions, K
categories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch import Tensor

from subtaxa.bench.scoring import Score, score
from subtaxa.clustering.clusters import cluster
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, means, unit
from subtaxa.training.trainer import Watcher

Ints = NDArray[np.int64]
RESTARTS = 20  # of k-means: one alone may be unlucky
WATCH_RESTARTS = 3  # of k-means after each epoch, for the curves only


def kmeans(features: Floats, number: int, seed: int, restarts: int = RESTARTS) -> Ints:
    """The category of each text by the library's k-means, the best of some random starts."""
    return _random_starts(features, number, seed, restarts).labels_.astype(np.int64)


def _random_starts(features: Floats, number: int, seed: int, restarts: int) -> KMeans:
    with threadpool_limits(1, "openmp"):  # several threads add up in an order that varies
        return KMeans(min(number, len(features)), n_init=restarts, random_state=seed).fit(features)


def _start_from_tree(features: Floats, number: int) -> KMeans:
    tree = WardTree(features)
    k = min(number, tree.most)
    with threadpool_limits(1, "openmp"):
        return KMeans(k, init=means(features, tree.cut(k), k)[0].astype(np.float32), n_init=1).fit(features)


def nearest_mean(features: Floats, assignment: Ints, new: Floats) -> Ints:
    """New rows filed under the nearest category mean of the old ones; both are unit rows."""
    names, inside = np.unique(assignment, return_inverse=True)  # k-means may leave a number out
    centroids = unit(means(features, inside, len(names))[0])  # (K, D)
    return np.asarray(names[(new @ centroids.T).argmax(1)], dtype=np.int64)


def nearest_discovered(train: Floats, coarse: Ints, test: Floats, number: int, seed: int) -> Ints:
    """Test rows filed under the nearest category that `subtaxa discover` finds, whatever its coarse label."""
    with threadpool_limits(1, "openmp"):
        return cluster(train, coarse, number, seed).nearest(test)


def score_features(
    train: Floats, coarse: Ints, test: Floats, truth: Sequence[str], number: int, seed: int
) -> dict[str, Score]:
    """Every protocol on the features (N, D) of the training and the test texts, with the training texts' coarse label
    numbers (N,) and the test texts' true categories."""
    on_train = kmeans(train, number, seed)
    on_test = _random_starts(test, number, seed, RESTARTS)
    lowest = min(on_test, _start_from_tree(test, number), key=lambda found: float(found.inertia_))
    scores = {
        "paper": score(truth, on_test.labels_),
        "lowest": score(truth, lowest.labels_),
        "centroid": score(truth, nearest_mean(train, on_train, test)),
    }
    with suppress(SettingError):  # fewer categories than labels, or more than distinct texts: it would refuse
        scores["discover"] = score(truth, nearest_discovered(train, coarse, test, number, seed))
    return scores


class FineWatcher(Watcher):
    """Follows a training with the fine labels: how many neighbours are left after each filter and how many of them are
    right (a text itself does not count), and after each epoch the scores of the test texts, if given their features."""

    def __init__(
        self,
        train: Sequence[str],
        test: Sequence[str],
        number: int,
        seed: int,
        features: Callable[[], Floats] | None,
    ) -> None:
        self.fine = torch.from_numpy(np.unique(train, return_inverse=True)[1].astype(np.int64))
        self.truth, self.number, self.seed, self.features = test, number, seed, features

    def mined(self, indices: Tensor, stages: Mapping[str, Tensor]) -> dict[str, float]:
        indices = indices.cpu()
        other = indices != torch.arange(len(indices))[:, None]  # (N, k)
        right = self.fine[indices] == self.fine[:, None]  # (N, k)
        log = {}
        for stage, kept in stages.items():
            counted = kept.cpu() & other
            log[f"accuracy_{stage}"] = float(right[counted].float().mean()) if counted.any() else float("nan")
            log[f"count_{stage}"] = float(counted.sum() / len(indices))
        return log

    def epoch(self) -> dict[str, float]:
        if self.features is None:
            return {}
        found = score(self.truth, kmeans(self.features(), self.number, self.seed, WATCH_RESTARTS))
        return {"acc": found.acc, "ari": found.ari, "nmi": found.nmi}
