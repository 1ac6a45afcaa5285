"""Features to categories: how many there are below each coarse label, their centroids, and who belongs to which.

Each coarse label is clustered on its own, so every category has exactly one parent. A Ward tree per label gives all
numbers of categories at once; k-means polishes the chosen cut. N texts, n of one label, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from subtaxa.errors import SettingError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

MICRO = 1500  # leaves of a Ward tree: larger labels are first gathered into this many micro-clusters
SAMPLE = 2000  # texts on which a silhouette is measured
FLOOR = 0.48  # a label whose best silhouette is below this is one category: nothing in it stands apart
FIRST_RANGE = 30  # numbers of categories tried before looking further


@dataclass(frozen=True)
class Clusters:
    """Unit centroids, ordered by parent label, and the parent of each."""

    centroids: Floats  # (K, D)
    parents: Ints  # (K,) coarse label numbers

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, features: Floats, labels: Ints | None = None) -> Ints:
        """The category of the most similar centroid (N,), within the coarse label where that is known."""
        similarity = features @ self.centroids.T  # (N, K)
        if labels is not None:
            similarity[labels[:, None] != self.parents] = -np.inf
        return similarity.argmax(1)


def cluster(
    features: Floats,
    labels: Ints,
    number: int | str,
    *,
    seed: int = 0,
    restarts: int = 20,
    advance: Callable[[int], None] = lambda n: None,
) -> Clusters:
    """Categories below each coarse label: `number` in all, or as many as the features show for "auto"."""
    groups = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    trees = []
    for members in groups:
        trees.append(WardTree(features[members], seed))
        advance(len(members))
    numbers = [tree.best_number() for tree in trees] if number == "auto" else share_out(trees, int(number))
    centroids, parents = [], []
    for label, (tree, k) in enumerate(zip(trees, numbers, strict=True)):
        found = tree.centroids(k, restarts)
        centroids.append(found)
        parents += [label] * len(found)
        advance(len(tree.features))
    return Clusters(np.concatenate(centroids), np.array(parents))


def share_out(trees: list[WardTree], number: int) -> list[int]:
    """Divide a total among the labels: the cut through all their trees that leaves the least within-category spread."""
    most = sum(tree.most for tree in trees)
    if not len(trees) <= number <= most:
        raise SettingError(
            f"categories is {number}: with {len(trees)} labels and {most} distinct texts "
            f"it must be {len(trees)} to {most}"
        )
    gains = np.concatenate([tree.gains for tree in trees])
    owners = np.concatenate([np.full(len(tree.gains), i) for i, tree in enumerate(trees)])
    chosen = owners[np.argsort(-gains, kind="stable")[: number - len(trees)]]
    return [1 + int(count) for count in np.bincount(chosen, minlength=len(trees))]


class WardTree:
    """The merge tree of one label's texts and what can be read off it."""

    def __init__(self, features: Floats, seed: int = 0) -> None:
        self.features, self.seed = features, seed  # (n, D)
        self.leaf = np.arange(len(features))  # (n,) the leaf of each text
        leaves = np.unique(features, axis=0, return_inverse=True)
        if len(leaves[0]) <= MICRO:
            points, self.leaf = leaves[0], leaves[1].ravel()
        else:
            micro = KMeans(MICRO, n_init=1, max_iter=10, random_state=seed).fit(features)
            points, self.leaf = micro.cluster_centers_, micro.labels_.astype(np.int64)
        self.most = len(points)
        self.merges = linkage(points, "ward") if self.most > 1 else np.empty((0, 4))
        self._distances: NDArray[np.float64] | None = None

    @property
    def gains(self) -> NDArray[np.float64]:
        """What each further category takes off the spread, largest first: the squared heights of the merges."""
        return np.sort(self.merges[:, 2] ** 2)[::-1]

    def cut(self, k: int) -> Ints:
        """The category of each text (n,) when the tree is cut into k."""
        if k == 1 or self.most == 1:
            return np.zeros(len(self.features), dtype=np.int64)
        return cut_tree(self.merges, n_clusters=k).ravel().astype(np.int64)[self.leaf]

    def best_number(self, floor: float = FLOOR, *, polish: bool = True) -> int:
        """The number with the best cosine silhouette, or 1 when even that is below the floor."""
        limit = min(self.most - 1, len(self.features) // 3)
        best, best_k, tried, last = floor, 1, 1, FIRST_RANGE
        while tried < min(limit, last):
            tried += 1
            score = self.silhouette(self.polished(tried) if polish else self.cut(tried))
            if score > best:
                best, best_k = score, tried
                last = max(last, round(1.5 * tried))
        return best_k

    def silhouette(self, assignment: Ints) -> float:
        """Mean cosine silhouette on at most SAMPLE texts."""
        chosen = np.arange(len(self.features))
        if len(chosen) > SAMPLE:
            chosen = np.sort(np.random.default_rng(self.seed).choice(chosen, SAMPLE, replace=False))
        if self._distances is None:
            rows = self.features[chosen]
            self._distances = np.clip(1.0 - rows @ rows.T, 0.0, None)  # (SAMPLE, SAMPLE) at most
            np.fill_diagonal(self._distances, 0.0)
        some = assignment[chosen]
        if not 1 < len(np.unique(some)) < len(some):
            return -1.0
        return float(silhouette_score(self._distances, some, metric="precomputed"))

    def polished(self, k: int) -> Ints:
        """The cut into k after k-means from it."""
        return _lloyd(self.features, _means(self.features, self.cut(k), k))[1]

    def centroids(self, k: int, restarts: int) -> Floats:
        """The k unit centroids with the least spread, among k-means from the tree's cut and from random starts."""
        starts = [_means(self.features, self.cut(k), k)]
        if 1 < k < self.most:
            random = KMeans(k, n_init=restarts, random_state=self.seed).fit(self.features)
            starts.append(unit(random.cluster_centers_))
        found = [_lloyd(self.features, start)[0] for start in starts]
        tight = [float((self.features @ centroids.T).max(1).sum()) for centroids in found]
        return found[int(np.argmax(tight))]


def _lloyd(features: Floats, centroids: Floats, rounds: int = 50) -> tuple[Floats, Ints]:
    """Spherical k-means from given centroids; a category that runs empty restarts at the worst-placed text."""
    assignment = np.full(len(features), -1)
    for _ in range(rounds):
        similarity = features @ centroids.T  # (n, K)
        new = similarity.argmax(1)
        fit = similarity[np.arange(len(new)), new]  # (n,)
        for empty in np.setdiff1d(np.arange(len(centroids)), new):
            worst = int(fit.argmin())
            new[worst], fit[worst] = empty, np.inf
        if (new == assignment).all():
            break
        assignment = new
        centroids = _means(features, assignment, len(centroids))
    return centroids, assignment


def _means(features: Floats, assignment: Ints, k: int) -> Floats:
    """Unit mean of each category (K, D)."""
    sums = np.zeros((k, features.shape[1]), dtype=np.float64)
    np.add.at(sums, assignment, features)
    return unit(sums)


def unit(rows: NDArray[np.floating]) -> Floats:
    """Rows scaled to length 1."""
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)
