"""Spherical k-means from given centroids.

Scikit-learn's KMeans minimises Euclidean distances to means that are not unit vectors, and relocates empty clusters by
another rule. This one assigns texts exactly as `Clusters.nearest` does.

n texts of one label, B in a block, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np

from subtaxa.clustering.clusters import BLOCK
from subtaxa.runtime.arrays import Floats, Ints, means, unit


def spherical_kmeans(features: Floats, centroids: Floats, rounds: int = 50) -> Floats:
    """Unit centroids (K, D) after convergence. An empty category restarts at the text with the worst fit."""
    assignment = np.full(len(features), -1)
    for _ in range(rounds):
        new, fit = _nearest(features, centroids)
        for empty in np.setdiff1d(np.arange(len(centroids)), new):
            worst = int(fit.argmin())
            new[worst], fit[worst] = empty, np.inf
        if (new == assignment).all():
            break
        assignment = new
        centroids = unit(means(features, assignment, len(centroids))[0])
    return centroids


def _nearest(features: Floats, centroids: Floats) -> tuple[Ints, Floats]:
    """The most similar centroid of each text (n,) and that similarity (n,), without an n x K table."""
    found = np.empty(len(features), dtype=np.int64)
    fit = np.empty(len(features), dtype=features.dtype)
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        similarity = features[rows] @ centroids.T  # (B, K)
        found[rows], fit[rows] = similarity.argmax(1), similarity.max(1)
    return found, fit
