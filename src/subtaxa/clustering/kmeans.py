"""Spherical k-means from given centroids.

Scikit-learn's KMeans minimises Euclidean distances to means that are not unit vectors, and relocates empty clusters by
another rule. This one assigns texts exactly as `Clusters.nearest` does.

n texts of one label, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np

from subtaxa.runtime.arrays import Floats, means, unit


def spherical_kmeans(features: Floats, centroids: Floats, rounds: int = 50) -> Floats:
    """Unit centroids (K, D) after convergence. An empty category restarts at the text with the worst fit."""
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
