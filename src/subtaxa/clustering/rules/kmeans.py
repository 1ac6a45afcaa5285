"""Categories by scikit-learn's k-means inside each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.runtime.arrays import unit

# The number of random starts, of which the one with the lowest inertia is kept.
STARTS = 10


class KMeansRule(ClusterRule):
    """K-means inside each label, the best of several random starts."""

    about: ClassVar[str] = "k-means inside each label"

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        with threadpool_limits(1, "openmp"):  # With several threads, the order of the sums varies.
            found = [
                unit(KMeans(k, n_init=STARTS, random_state=0).fit(tree.features).cluster_centers_)
                for tree, k in zip(forest.trees, numbers, strict=True)
            ]
        return Clusters(np.concatenate(found), np.repeat(np.arange(len(numbers)), numbers))
