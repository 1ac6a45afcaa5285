"""The result of clustering: centroids, and the coarse label that each category belongs to.

N texts, B in a block, K categories, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subtaxa.runtime.arrays import Floats, Ints

# The number of texts that are compared with all centroids at once.
BLOCK = 20_000


@dataclass(frozen=True)
class Clusters:
    """Unit centroids, ordered by parent label, and the parent of each."""

    centroids: Floats  # (K, D)
    parents: Ints  # (K,) coarse label numbers

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, features: Floats, labels: Ints | None = None) -> Ints:
        """The category with the most similar centroid (N,), within the coarse label where `labels` are given."""
        best = np.empty(len(features), dtype=np.int64)
        for start in range(0, len(features), BLOCK):
            rows = slice(start, start + BLOCK)
            similarity = features[rows] @ self.centroids.T  # (B, K)
            if labels is not None:
                similarity[labels[rows, None] != self.parents] = -np.inf
            best[rows] = similarity.argmax(1)
        return best
