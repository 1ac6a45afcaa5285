"""The Ward tree of one label: all numbers of categories at once.

n texts of one label, D dimensions.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

LARGEST_TREE = 4000  # texts of a label that become leaves of its own; a larger label is first gathered into
MICRO = 1000  # micro-clusters


class WardTree:
    """The merge tree of one label's texts and what can be read off it."""

    def __init__(self, features: NDArray[np.float32], seed: int = 0) -> None:
        self.features, self.seed = features, seed  # (n, D)
        points, leaf = np.unique(features, axis=0, return_inverse=True)
        self.leaf = leaf.ravel()  # (n,) the leaf of each text
        if len(points) > LARGEST_TREE:
            micro = KMeans(MICRO, n_init=1, max_iter=10, random_state=seed).fit(features)
            points, self.leaf = micro.cluster_centers_, micro.labels_.astype(np.int64)
        self.most = len(points)
        self.merges = linkage(points, "ward") if self.most > 1 else np.empty((0, 4))
        self.texts = len(features)  # that the tree was made of

    def only(self, some: NDArray[np.int64]) -> WardTree:
        """The same tree with only some of the texts."""
        tree = copy(self)
        tree.features, tree.leaf = self.features[some], self.leaf[some]
        return tree

    @property
    def gains(self) -> NDArray[np.float64]:
        """What each further category takes off the spread, largest first: the squared heights of the merges.

        A leaf may stand for several texts, so the heights count as many times as there are texts to a leaf.
        """
        return np.sort(self.merges[:, 2] ** 2)[::-1] * (self.texts / self.most)

    def cut(self, k: int) -> NDArray[np.int64]:
        """The category of each text (n,) when the tree is cut into k."""
        done = self.most - k  # merges; by their order, not their height: there may be ties
        joined = np.repeat(np.arange(self.most, self.most + done), 2)  # each merge makes a node of two others
        nodes = self.merges[:done, :2].astype(np.int64).ravel()
        graph = csr_matrix((np.ones(2 * done), (joined, nodes)), shape=(self.most + done, self.most + done))
        parts = connected_components(graph, directed=False)[1][: self.most]
        return np.unique(parts[self.leaf], return_inverse=True)[1]
