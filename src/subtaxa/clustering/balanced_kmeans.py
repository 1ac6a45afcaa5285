"""Balanced k-means: categories of equal size.

K-means joins two categories that are hard to tell apart, and divides one that has clear halves. Neither is compatible
with equal sizes. The assignment here is soft, an optimal transport with entropy (Sinkhorn): each text is divided among
the centroids by similarity, and each centroid has a scaling factor such that all centroids receive the same amount.
n texts of one label, K categories, D dimensions.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from subtaxa.runtime.arrays import means, unit

# The temperature of the similarities: the higher it is, the softer is the assignment.
TEMPERATURE = 0.05

# The number of times that the centroids are recomputed.
ROUNDS = 15

# The number of Sinkhorn iterations in each round.
SINKHORN_ITERATIONS = 20

# Two centroids with a cosine similarity above this have collapsed: float32 cannot tell reliably which one is nearer.
COLLAPSED = 1 - 1e-5

Real = TypeVar("Real", np.float32, np.float64)


def balanced_kmeans(
    features: NDArray[np.float32], centroids: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return unit centroids (K, D) that receive equal parts of the features (n, D), and each text's category (n,).

    The iteration starts from the given centroids. A category that is narrower than the temperature attracts the
    centroid of its neighbour, and the two converge. What is left of their difference in float32 is mostly rounding
    error; in float64 it still tells the two apart. Centroids that collapsed are therefore found again in float64, and
    each is replaced by the mean of the texts that it receives there. The returned categories remain those of float32,
    in which collapsed centroids share their texts almost at random: this shows what balancing costs.
    """
    found, assignment = _iterate(features, centroids)
    if _collapsed(found).any():
        precise, precise_assignment = _iterate(features.astype(np.float64), centroids.astype(np.float64))
        own_means, sizes = means(features, precise_assignment, len(centroids))
        found = precise.astype(np.float32)
        replaced = _collapsed(precise) & (sizes > 0)  # (K,)
        found[replaced] = unit(own_means[replaced])
    return found, assignment


def _iterate(features: NDArray[Real], centroids: NDArray[Real]) -> tuple[NDArray[Real], NDArray[np.int64]]:
    """Soft balanced k-means in the precision of the features."""
    n, k = len(features), len(centroids)
    scale = np.ones(k, dtype=features.dtype)
    for _ in range(ROUNDS):
        similarity = features @ centroids.T / TEMPERATURE  # (n, K)
        kernel = np.exp(similarity - similarity.max(1, keepdims=True))  # (n, K)
        for _ in range(SINKHORN_ITERATIONS):
            row_scale = 1.0 / (kernel @ scale)  # (n,) makes the parts of each text sum to 1
            scale = n / k / np.maximum(row_scale @ kernel, 1e-12)  # (K,) makes the parts of each centroid sum to n / K
        parts = kernel * scale * row_scale[:, None]  # (n, K)
        centroids = normalize(parts.T @ features)
    return centroids, parts.argmax(1)


def _collapsed(centroids: NDArray[Real]) -> NDArray[np.bool_]:
    """Which centroids (K,) have converged to the same point as another one."""
    similarity = centroids @ centroids.T  # (K, K)
    np.fill_diagonal(similarity, -1.0)
    return np.asarray(similarity.max(1) > COLLAPSED)
