"""Texts that fit nowhere: much less like their category than its other texts are.

They stay where they are; they are only marked. N texts, n new ones, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints

SPREADS = 5.0  # below the category's median
ENOUGH = 20  # texts of a category say how wide it is; fewer are helped out by the other categories


def outlier_threshold(features: Floats, place: Ints, clusters: Clusters) -> NDArray[np.float64]:
    """The least similarity (K,) to its centroid at which a text still fits a category."""
    own = similarity_to(features, place, clusters)  # (N,)
    k = len(clusters)
    middle = _medians(own, place, k)
    away = np.abs(own - middle[place])  # (N,)
    typical = float(np.median(away)) if len(away) else 0.0
    size = np.bincount(place, minlength=k)
    spread = (size * _medians(away, place, k) + ENOUGH * typical) / (size + ENOUGH)
    return middle - SPREADS * 1.4826 * spread  # 1.4826: from the median deviation to the standard one of a bell curve


def is_outlier(features: Floats, place: Ints, clusters: Clusters, lowest: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which texts (n,) are less similar to their category than it allows."""
    return similarity_to(features, place, clusters) < lowest[place]


def similarity_to(features: Floats, place: Ints, clusters: Clusters) -> NDArray[np.float64]:
    """The similarity of each text to its category's centroid (n,)."""
    return np.einsum("nd,nd->n", features, clusters.centroids[place]).astype(np.float64)


def _medians(values: NDArray[np.float64], group: Ints, k: int) -> NDArray[np.float64]:
    """The median of each group's values (k,); 0 where there are none."""
    order = np.lexsort((values, group))
    size = np.bincount(group, minlength=k)
    start = np.cumsum(size) - size
    some = size > 0
    found = np.zeros(k)
    lower, upper = (start + (size - 1) // 2)[some], (start + size // 2)[some]
    found[some] = (values[order][lower] + values[order][upper]) / 2
    return found
