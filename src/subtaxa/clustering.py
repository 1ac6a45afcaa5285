"""Features to categories: how many there are below each coarse label, their centroids, and who belongs to which.

Each coarse label is clustered on its own, so every category has exactly one parent. A Ward tree per label gives all
numbers of categories at once; k-means polishes the chosen cut. N texts, n of one label, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans

from subtaxa.errors import SettingError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

LARGEST_TREE = 4000  # texts of a label that become leaves of its own; a larger label is first gathered into
MICRO = 1000  # micro-clusters


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
    number: int | range,
    seed: int = 0,
    restarts: int = 20,
    advance: Callable[[int], None] = lambda n: None,
) -> Clusters:
    """Categories below each coarse label: `number` in all, or the clearest number of a range."""
    from subtaxa.how_many import clearest_total

    forest = Forest(features, labels, seed, advance)
    numbers = forest.share_out(clearest_total(forest, number, seed) if isinstance(number, range) else number)
    centroids, parents = [], []
    for label, (tree, k) in enumerate(zip(forest.trees, numbers, strict=True)):
        centroids.append(tree.centroids(k, restarts))
        parents += [label] * k
        advance(len(tree.features))
    return Clusters(np.concatenate(centroids), np.array(parents))


def check_number(number: int, least: int, most: int) -> None:
    """Refuse a number of categories that cannot be reached."""
    if not least <= number <= most:
        raise SettingError(
            f"categories is {number}: with {least} labels and {most} distinct texts it must be {least} to {most}"
        )


class WardTree:
    """The merge tree of one label's texts and what can be read off it."""

    def __init__(self, features: Floats, seed: int = 0) -> None:
        self.features, self.seed = features, seed  # (n, D)
        points, leaf = np.unique(features, axis=0, return_inverse=True)
        self.leaf = leaf.ravel()  # (n,) the leaf of each text
        if len(points) > LARGEST_TREE:
            micro = KMeans(MICRO, n_init=1, max_iter=10, random_state=seed).fit(features)
            points, self.leaf = micro.cluster_centers_, micro.labels_.astype(np.int64)
        self.most = len(points)
        self.merges = linkage(points, "ward") if self.most > 1 else np.empty((0, 4))

    @property
    def gains(self) -> NDArray[np.float64]:
        """What each further category takes off the spread, largest first: the squared heights of the merges.

        A leaf may stand for several texts, so the heights count as many times as there are texts to a leaf.
        """
        return np.sort(self.merges[:, 2] ** 2)[::-1] * (len(self.features) / self.most)

    def cut(self, k: int) -> Ints:
        """The category of each text (n,) when the tree is cut into k."""
        if k == 1 or self.most == 1:
            return np.zeros(len(self.features), dtype=np.int64)
        return fcluster(self.merges, k, criterion="maxclust").astype(np.int64)[self.leaf] - 1

    def centroids(self, k: int, restarts: int) -> Floats:
        """The k unit centroids with the least spread, among k-means from the tree's cut and from random starts."""
        starts = [unit(means(self.features, self.cut(k), k)[0])]
        if 1 < k < self.most:
            random = KMeans(k, n_init=restarts, random_state=self.seed).fit(self.features)
            starts.append(unit(random.cluster_centers_))
        found = [_lloyd(self.features, start) for start in starts]
        tight = [float((self.features @ centroids.T).max(1).sum()) for centroids in found]
        return found[int(np.argmax(tight))]


class Forest:
    """The trees of all labels, to be cut as one."""

    def __init__(
        self, features: Floats, labels: Ints, seed: int = 0, advance: Callable[[int], None] = lambda n: None
    ) -> None:
        self.features, self.trees, self.members = features, [], []
        for label in range(int(labels.max()) + 1):
            self.members.append(np.flatnonzero(labels == label))
            self.trees.append(WardTree(features[self.members[-1]], seed))
            advance(len(self.members[-1]))

    @property
    def most(self) -> int:
        """The largest number of categories there can be."""
        return sum(tree.most for tree in self.trees)

    def share_out(self, number: int) -> list[int]:
        """Divide a total among the labels: the cut through all trees that leaves the least within-category spread."""
        least = len(self.trees)
        check_number(number, least, self.most)
        gains = np.concatenate([tree.gains for tree in self.trees])
        owners = np.concatenate([np.full(len(tree.gains), i) for i, tree in enumerate(self.trees)])
        chosen = owners[np.argsort(-gains, kind="stable")[: number - least]]
        return [1 + int(count) for count in np.bincount(chosen, minlength=least)]

    def cut(self, numbers: list[int]) -> Ints:
        """The category of each text (N,) when each tree is cut into its number, counted through all labels."""
        assignment = np.empty(len(self.features), dtype=np.int64)
        begin = 0
        for tree, members, k in zip(self.trees, self.members, numbers, strict=True):
            assignment[members] = begin + tree.cut(k)
            begin += k
        return assignment


def means(features: Floats, assignment: Ints, k: int) -> tuple[NDArray[np.float64], Ints]:
    """The mean (K, D) and the size (K,) of each category."""
    n = len(features)
    member = csr_matrix((np.ones(n), assignment, np.arange(n + 1)), shape=(n, k))  # one 1 in each row
    sizes = np.bincount(assignment, minlength=k)
    return np.asarray(member.T @ features) / np.maximum(sizes, 1)[:, None], sizes


def unit(rows: NDArray[np.floating]) -> Floats:
    """Rows scaled to length 1."""
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def _lloyd(features: Floats, centroids: Floats, rounds: int = 50) -> Floats:
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
        centroids = unit(means(features, assignment, len(centroids))[0])
    return centroids
