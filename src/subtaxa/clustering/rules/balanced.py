"""Categories of equal size, and how well they suit the texts.

N texts, n of them scored, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from subtaxa.clustering.balanced_kmeans import balanced_kmeans
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.rules.merged import merged, small_clusters
from subtaxa.clustering.silhouettes import silhouettes
from subtaxa.runtime.arrays import Ints

# The power of Ward's factor in the merges that balanced k-means starts from: sizes have a large weight.
START_POWER = 3.0

# The number of small clusters at the start, as a multiple of the number of categories.
SMALL_CLUSTERS = 3

# If more than this share of the texts has a negative silhouette, the texts are too blurred to show any structure.
MAX_NEGATIVE_SHARE = 0.25


class BalancedRule(ClusterRule):
    """Categories of equal size inside each label, whether or not the texts suggest them."""

    about: ClassVar[str] = "balanced k-means: categories of equal size"

    def balances(self, forest: Forest, total: int, fixed: Mapping[int, int] | None = None) -> bool:
        return True

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        return balanced(forest, numbers).balanced


class Balanced(NamedTuple):
    """Categories from one start: unconstrained and forced to equal sizes, and the texts' categories in the latter."""

    free: Clusters
    balanced: Clusters
    assignment: Ints  # (N,)


def balanced(forest: Forest, numbers: Sequence[int]) -> Balanced:
    """Categories of equal size in each label, and the unconstrained ones that they start from."""
    small = small_clusters(forest, numbers, SMALL_CLUSTERS)
    begin, parents = np.cumsum(numbers) - numbers, np.repeat(np.arange(len(numbers)), numbers)
    free = [merged(*parts, START_POWER) for parts in zip(forest.trees, small, numbers, strict=True)]  # (k, D) each
    forced, assignment = [], np.empty(len(forest.features), dtype=np.int64)
    for tree, members, start, first in zip(forest.trees, forest.members, free, begin, strict=True):
        centroids, own = balanced_kmeans(tree.features, start)
        forced.append(centroids)
        assignment[members] = first + own
    return Balanced(Clusters(np.concatenate(free), parents), Clusters(np.concatenate(forced), parents), assignment)


class BalanceCost(NamedTuple):
    """What it costs to force categories to equal sizes."""

    silhouette_kept: float  # as a share of the mean silhouette of the unconstrained categories
    negative_share: float  # of the texts: those with a negative silhouette in the balanced categories


def balance_cost(forest: Forest, total: int, fixed: Mapping[int, int] | None = None) -> BalanceCost:
    """Compare balanced categories with unconstrained ones. If the true sizes are equal, balancing costs little.

    A category that is less than half full does not count. If the texts are too blurred, the share kept is 0, because
    any constraint costs little there.
    """
    as_balanced, rows = forest.as_balanced(), forest.sample()
    numbers = as_balanced.divide(total, fixed)
    found = balanced(as_balanced, numbers)
    fair = np.repeat(np.bincount(forest.labels) / numbers, numbers)  # (K,) texts
    filled = float((np.bincount(found.assignment, minlength=total) >= fair / 2).mean())
    forced, free = (
        silhouettes(forest.features, assignment, total, rows)  # (n,)
        for assignment in (found.assignment, found.free.nearest(forest.features, forest.labels))
    )
    shows_structure = (free < 0).mean() <= MAX_NEGATIVE_SHARE and free.mean() > 0
    kept = filled * float(forced.mean() / free.mean()) if shows_structure else 0.0
    return BalanceCost(kept, float((forced < 0).mean()))
