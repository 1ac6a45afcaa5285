"""Features to categories: how many there are below each coarse label, their centroids, and who belongs to which.

Each coarse label is clustered on its own, so every category has exactly one parent. A Ward tree per label gives all
numbers of categories at once. It is cut into twice as many clusters as wanted, which are merged with more or less
regard to size (merging.py), and spherical k-means polishes the result; the clearest result is taken. Categories of one
size are recognised by how little it costs to force them to it (even.py). N texts, n of one label, K categories, D
dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.balanced_kmeans import balanced_kmeans
from subtaxa.clustering.merging import POWERS, merge
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, Ints, means, unit

FINER = 2  # times as many clusters as wanted are merged into the categories
FEWEST = 50  # texts of a label stay in a thinned forest
BLOCK = 20_000  # texts that are compared with all centroids at once
SAMPLE = 8000  # texts looked at to judge how clear-cut a result is
EVEN_POWER, EVEN_FINER = 3.0, 3  # the regard to sizes of merges, and so many times as many clusters, where all are even
BLURRED = 0.25  # of the texts nearer to another category than to their own: nothing can be told
# Mean silhouettes that differ by less than this are equal: float32 rounding differs between processors.
ROUNDING = 1e-8
AS_CLEAR = 0.96  # of the silhouette left by forcing categories to be of one size: then they are


@dataclass(frozen=True)
class Clusters:
    """Unit centroids, ordered by parent label, and the parent of each."""

    centroids: Floats  # (K, D)
    parents: Ints  # (K,) coarse label numbers

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, features: Floats, labels: Ints | None = None) -> Ints:
        """The category of the most similar centroid (N,), within the coarse label where that is known."""
        best = np.empty(len(features), dtype=np.int64)
        for start in range(0, len(features), BLOCK):
            rows = slice(start, start + BLOCK)
            similarity = features[rows] @ self.centroids.T  # (B, K)
            if labels is not None:
                similarity[labels[rows, None] != self.parents] = -np.inf
            best[rows] = similarity.argmax(1)
        return best


def cluster(
    features: Floats, labels: Ints, number: int, seed: int = 0, advance: Callable[[int], None] = lambda n: None
) -> Clusters:
    """Categories below each coarse label, `number` in all."""
    forest = if_even(Forest(features, labels, seed, advance), number)
    return categories(forest, forest.share_out(number), advance)


def categories(forest: Forest, numbers: Sequence[int], advance: Callable[[int], None] = lambda n: None) -> Clusters:
    """The categories, a number of them below each label: of one size, or else by the regard to sizes that makes them
    the clearest."""
    found = evenly(forest, numbers)[1] if forest.even else None
    if found is None or len(np.unique(found.nearest(forest.features, forest.labels))) < len(found):
        found, _ = clearest(forest, numbers, forest.sample())
    advance(len(forest.features))
    return found


def if_even(forest: Forest, number: int, fixed: Mapping[int, int] | None = None) -> Forest:
    """The same forest, to be cut into categories of one size, if the texts are so."""
    return forest.evenly() if evenness(forest, number, fixed).left >= AS_CLEAR else forest


class Evenness(NamedTuple):
    """What becomes of the texts in categories that are forced to be of one size."""

    left: float  # of the mean silhouette that they have in those that they fall into from the same start
    misplaced: float  # the share of texts that are nearer to another category then


def evenness(forest: Forest, number: int, fixed: Mapping[int, int] | None = None) -> Evenness:
    """If all categories are of one size, the force is hardly felt. A category that it could not even fill by half does
    not count, and where texts are blurred, none does: there any force is hardly felt."""
    even, rows = forest.evenly(), forest.sample()
    numbers = even.share_out(number, fixed)
    free, _, parts = evenly(even, numbers)
    fair = np.repeat(np.bincount(forest.labels) / numbers, numbers)  # (K,) texts
    filled = float((np.bincount(parts, minlength=number) >= fair / 2).mean())
    forced, as_they_fall = (
        silhouettes(forest.features, assignment, len(free), rows)  # (n,)
        for assignment in (parts, free.nearest(forest.features, forest.labels))
    )
    told = (as_they_fall < 0).mean() <= BLURRED and as_they_fall.mean() > 0
    left = filled * float(forced.mean() / as_they_fall.mean()) if told else 0.0
    return Evenness(left, float((forced < 0).mean()))


def evenly(forest: Forest, numbers: Sequence[int]) -> tuple[Clusters, Clusters, Ints]:
    """Categories from a start with much regard to sizes: as they fall, and forced to be of one size in each label; with
    the texts (N,) in equal parts."""
    small = [tree.cut(min(EVEN_FINER * k, tree.most)) for tree, k in zip(forest.trees, numbers, strict=True)]
    begin, parents = np.cumsum(numbers) - numbers, np.repeat(np.arange(len(numbers)), numbers)
    free = [_merged(*parts, EVEN_POWER) for parts in zip(forest.trees, small, numbers, strict=True)]  # (k, D) each
    forced, parts = [], np.empty(len(forest.features), dtype=np.int64)
    for tree, members, start, first in zip(forest.trees, forest.members, free, begin, strict=True):
        centroids, own = balanced_kmeans(tree.features, start)
        forced.append(centroids)
        parts[members] = first + own
    return Clusters(np.concatenate(free), parents), Clusters(np.concatenate(forced), parents), parts


def clearest(
    forest: Forest, numbers: Sequence[int], rows: Ints, powers: Sequence[float] = POWERS
) -> tuple[Clusters, NDArray[np.float64]]:
    """Of the categories by each of the `powers`, the clearest: those in which some rows (n,) have the highest mean
    silhouette; with the silhouettes (n,)."""
    small = [tree.cut(min(FINER * k, tree.most)) for tree, k in zip(forest.trees, numbers, strict=True)]  # (n,) each
    parents = np.repeat(np.arange(len(numbers)), numbers)
    found = [
        Clusters(
            np.concatenate([_merged(*parts, power) for parts in zip(forest.trees, small, numbers, strict=True)]),
            parents,
        )
        for power in powers
    ]
    clear = [
        silhouettes(forest.features, some.nearest(forest.features, forest.labels), len(some), rows) for some in found
    ]
    best = first_of_the_best([float(scores.mean()) for scores in clear])
    return found[best], clear[best]


def first_of_the_best(scores: Sequence[float]) -> int:
    """The index of the highest score. Of scores that differ by no more than rounding, the first one wins."""
    return int(np.flatnonzero(np.array(scores) >= max(scores) - ROUNDING)[0])


def _merged(tree: WardTree, small: Ints, k: int, power: float) -> Floats:
    """The centroids (k, D) of one label's small clusters (n,) merged into k."""
    into = merge(*means(tree.features, small, int(small.max()) + 1), k, power)
    return _lloyd(tree.features, unit(means(tree.features, into[small], k)[0]))


def check_number(number: int, least: int, most: int) -> None:
    """Refuse a number of categories that cannot be reached."""
    if not least <= number <= most:
        raise SettingError(
            f"categories is {number}: with {least} labels and {most} distinct texts it must be {least} to {most}"
        )


class Forest:
    """The trees of all labels, to be cut as one."""

    even = False  # whether all categories are to be of one size

    def __init__(
        self, features: Floats, labels: Ints, seed: int = 0, advance: Callable[[int], None] = lambda n: None
    ) -> None:
        self.features, self.labels, self.trees, self.members = features, labels, [], []
        for label in range(int(labels.max()) + 1):
            self.members.append(np.flatnonzero(labels == label))
            self.trees.append(WardTree(features[self.members[-1]], seed))
            advance(len(self.members[-1]))

    @property
    def most(self) -> int:
        """The largest number of categories there can be."""
        return sum(tree.most for tree in self.trees)

    def evenly(self) -> Forest:
        """The same trees, to be cut into categories of one size."""
        same = copy(self)
        same.even = True
        return same

    def sample(self) -> Ints:
        """Some of the texts (n,), always the same."""
        return np.sort(np.random.default_rng(0).permutation(len(self.features))[:SAMPLE])

    def thinned(self, number: int) -> Forest:
        """The same trees with only about a `number` of the texts, some of each label; itself if there are no more."""
        if len(self.features) <= number:
            return self
        rng, share = np.random.default_rng(0), number / len(self.features)
        left = [np.sort(rng.permutation(len(own))[: max(FEWEST, round(share * len(own)))]) for own in self.members]
        rows = np.concatenate([own[some] for own, some in zip(self.members, left, strict=True)])
        thin = copy(self)
        thin.features, thin.labels = self.features[rows], self.labels[rows]
        thin.members = [np.flatnonzero(thin.labels == label) for label in range(len(self.trees))]
        thin.trees = [tree.only(some) for tree, some in zip(self.trees, left, strict=True)]
        return thin

    def share_out(self, number: int, fixed: Mapping[int, int] | None = None) -> list[int]:
        """Divide a total among the labels: the cut through all trees that leaves the least within-category spread, or,
        if all categories are of one size, in proportion to the texts.

        Labels whose number is `fixed` have that one; what is left goes to the others.
        """
        least = [1] * len(self.trees)
        free = list(range(len(self.trees)))
        for label, own in (fixed or {}).items():
            least[label] = own
            free.remove(label)
        check_number(number, sum(least), sum(least) + sum(self.trees[i].most - 1 for i in free))
        each = [self._gains(self.trees[i]) for i in free]
        gains = np.concatenate([np.empty(0), *each])
        owners = np.repeat(free, list(map(len, each))).astype(np.int64)
        chosen = owners[np.argsort(-gains, kind="stable")[: number - sum(least)]]
        return (np.array(least) + np.bincount(chosen, minlength=len(least))).tolist()

    def _gains(self, tree: WardTree) -> NDArray[np.float64]:
        """What each further category of a label is worth, largest first."""
        return tree.texts / (np.arange(1, tree.most) + 0.5) if self.even else tree.gains  # by Sainte-Laguë

    def cut(self, numbers: Sequence[int]) -> Ints:
        """The category of each text (N,) when each tree is cut into its number, counted through all labels."""
        assignment = np.empty(len(self.features), dtype=np.int64)
        begin = 0
        for tree, members, k in zip(self.trees, self.members, numbers, strict=True):
            assignment[members] = begin + tree.cut(k)
            begin += k
        return assignment


def silhouettes(features: Floats, assignment: Ints, k: int, rows: Ints) -> NDArray[np.float64]:
    """The exact cosine silhouette of some rows, without any N x N matrix.

    The mean cosine distance from a unit vector to the members of a category is 1 minus its product with their mean.
    """
    centres, sizes = means(features, assignment, k)
    own, some = assignment[rows], np.arange(len(rows))
    distance = 1.0 - features[rows] @ centres.T.astype(np.float32)  # (n, K)
    inside = distance[some, own] * sizes[own] / np.maximum(sizes[own] - 1, 1)  # (n,) without the text itself
    distance[some, own] = np.inf
    distance[:, sizes == 0] = np.inf
    outside = distance.min(1)
    judged = (sizes[own] > 1) & np.isfinite(outside)  # a text alone, or without any other category, scores 0
    score = np.zeros(len(rows))
    inside, outside = inside[judged], outside[judged]
    score[judged] = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12)
    return score


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
