"""Categories by merging small clusters, with the weight on sizes that gives the highest silhouette.

The Ward tree of each label is cut into more clusters than needed. These are merged with several weights on their sizes
(see `merging.py`), and spherical k-means refines each result.

n texts, K categories, k of one label, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.kmeans import spherical_kmeans
from subtaxa.clustering.merging import POWERS, merge
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.silhouettes import first_best, silhouettes
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.runtime.arrays import Floats, Ints, means, unit

# The number of small clusters, as a multiple of the number of categories they are merged into.
SMALL_CLUSTERS = 2


class MergedRule(ClusterRule):
    """Small clusters merged into categories, with the power of Ward's factor that gives the highest silhouette."""

    about: ClassVar[str] = "small Ward clusters merged with less weight on sizes, refined by k-means"

    def __init__(self, powers: Sequence[float] = POWERS) -> None:
        self.powers = powers

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        return best_merged(forest, numbers, forest.sample(), self.powers)[0]


def best_merged(
    forest: Forest, numbers: Sequence[int], rows: Ints, powers: Sequence[float] = POWERS
) -> tuple[Clusters, NDArray[np.float64]]:
    """The categories by the power that gives the rows (n,) the highest mean silhouette, and the silhouettes (n,)."""
    small = small_clusters(forest, numbers, SMALL_CLUSTERS)
    parents = np.repeat(np.arange(len(numbers)), numbers)
    found = [
        Clusters(
            np.concatenate([merged(*parts, power) for parts in zip(forest.trees, small, numbers, strict=True)]), parents
        )
        for power in powers
    ]
    scores = [
        silhouettes(forest.features, some.nearest(forest.features, forest.labels), len(some), rows) for some in found
    ]
    best = first_best([float(each.mean()) for each in scores])
    return found[best], scores[best]


def small_clusters(forest: Forest, numbers: Sequence[int], multiple: int) -> list[Ints]:
    """The small clusters of each label's texts (n,): a multiple of its categories, if there are enough texts."""
    return [tree.cut(min(multiple * k, tree.n_leaves)) for tree, k in zip(forest.trees, numbers, strict=True)]


def merged(tree: WardTree, small: Ints, k: int, power: float) -> Floats:
    """The centroids (k, D) of one label's small clusters (n,) merged into k."""
    into = merge(*means(tree.features, small, int(small.max()) + 1), k, power)
    return spherical_kmeans(tree.features, unit(means(tree.features, into[small], k)[0]))
