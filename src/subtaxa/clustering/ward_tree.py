"""The Ward tree of one label. One tree can be cut into any number of categories.

n texts of one label, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from subtaxa.runtime.arrays import unique_rows

# In a label with more distinct texts than this, the leaves of the tree are micro-clusters instead of texts.
LARGEST_TREE = 4000

# The number of micro-clusters of such a label.
MICRO_CLUSTERS = 1000


class WardTree:
    """The merge tree of one label's texts."""

    def __init__(self, features: NDArray[np.float32], seed: int = 0) -> None:
        self.features, self.seed = features, seed  # (n, D)
        points, self.leaf = unique_rows(features)  # (P, D), (n,) the leaf of each text
        if len(points) > LARGEST_TREE:
            micro = KMeans(MICRO_CLUSTERS, n_init=1, max_iter=10, random_state=seed).fit(features)
            points, self.leaf = micro.cluster_centers_, micro.labels_.astype(np.int64)
        self.n_leaves = len(points)
        self.merges = linkage(points, "ward") if self.n_leaves > 1 else np.empty((0, 4))

    @property
    def gains(self) -> NDArray[np.float64]:
        """The reduction of the variance by each further category, largest first: the squared heights of the merges.

        A leaf may stand for several texts, so the heights are multiplied by the mean number of texts per leaf.
        """
        return np.sort(self.merges[:, 2] ** 2)[::-1] * (len(self.features) / self.n_leaves)

    def cut(self, k: int) -> NDArray[np.int64]:
        """The category of each text (n,) when the tree is cut into k."""
        done = self.n_leaves - k  # The first merges are applied by order, not by height, because heights may tie.
        joined = np.repeat(
            np.arange(self.n_leaves, self.n_leaves + done), 2
        )  # Each merge joins two nodes into a new one.
        nodes = self.merges[:done, :2].astype(np.int64).ravel()
        size = self.n_leaves + done
        graph = csr_matrix((np.ones(2 * done), (joined, nodes)), shape=(size, size))
        parts = connected_components(graph, directed=False)[1][: self.n_leaves]
        return np.unique(parts[self.leaf], return_inverse=True)[1]
