"""Categories of equal size.

N texts, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from subtaxa.clustering.balanced_kmeans import balanced_kmeans
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.rules.merged import merged, small_clusters

# The power of Ward's factor in the merges that balanced k-means starts from: sizes have a large weight.
START_POWER = 3.0

# The number of small clusters at the start, as a multiple of the number of categories.
SMALL_CLUSTERS = 3


class BalancedRule(ClusterRule):
    """Categories of equal size inside each label, whether or not the texts suggest them."""

    about: ClassVar[str] = "balanced k-means: categories of equal size"

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        return balanced(forest, numbers)


def balanced(forest: Forest, numbers: Sequence[int]) -> Clusters:
    """Categories of equal size in each label. They start from unconstrained ones."""
    small = small_clusters(forest, numbers, SMALL_CLUSTERS)
    centroids = [
        balanced_kmeans(tree.features, merged(tree, own, k, START_POWER))[0]
        for tree, own, k in zip(forest.trees, small, numbers, strict=True)
    ]
    return Clusters(np.concatenate(centroids), np.repeat(np.arange(len(numbers)), numbers))
