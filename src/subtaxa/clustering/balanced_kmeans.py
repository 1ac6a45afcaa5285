"""Categories of one size: the texts of a label are shared out among its centroids in equal parts.

K-means finds one category where two are hard to tell apart, and two where one has clear halves. Neither goes with equal
sizes. The parts are soft, as of an optimal transport with entropy (Sinkhorn): a text goes to several centroids, by
similarity, and each centroid has its price, such that all get as much. n texts of one label, K categories, D
dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

TEMPERATURE = 0.05  # of the similarities: how soft the parts are
ROUNDS = 15  # of new centroids
SWEEPS = 20  # of new prices in each


def balanced_kmeans(
    features: NDArray[np.float32], centroids: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Unit centroids (K, D) that have an equal part of the features (n, D) each, sought from given ones; and whose each
    text is for the most part (n,)."""
    n, k = len(features), len(centroids)
    price = np.ones(k, dtype=np.float32)  # a factor: the higher, the more it gets
    for _ in range(ROUNDS):
        similarity = features @ centroids.T / TEMPERATURE  # (n, K)
        likely = np.exp(similarity - similarity.max(1, keepdims=True))  # (n, K)
        for _ in range(SWEEPS):
            whole = 1.0 / (likely @ price)  # (n,) makes the parts of each text one text
            price = n / k / np.maximum(whole @ likely, 1e-12)  # (K,) makes the parts of each centroid n / K texts
        parts = likely * price * whole[:, None]  # (n, K)
        centroids = normalize(parts.T @ features)
    return centroids, parts.argmax(1)
