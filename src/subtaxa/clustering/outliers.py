"""Outliers: texts that are much less similar to their category than its other texts.

Outliers stay in their category and are marked there. N texts, n new ones, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints

# A text is an outlier if its similarity is this many standard deviations below the median of its category.
DEVIATIONS = 5.0

# The spread of a category is averaged with the overall spread, which counts as much as this many texts.
PRIOR_TEXTS = 20

# The ratio of the standard deviation to the median absolute deviation of a normal distribution.
MAD_TO_STANDARD_DEVIATION = 1.4826


def outlier_threshold(
    features: Floats, assignment: Ints, clusters: Clusters, deviations: float = DEVIATIONS
) -> NDArray[np.float64]:
    """The similarity to the centroid (K,) below which a text is an outlier of its category."""
    return threshold_of(similarity_to(features, assignment, clusters), assignment, len(clusters), deviations)


def threshold_of(own: NDArray[np.float64], assignment: Ints, k: int, deviations: float) -> NDArray[np.float64]:
    """The same, given the similarity of each text to its own centroid (N,)."""
    median = _medians(own, assignment, k)  # (K,)
    deviation = np.abs(own - median[assignment])  # (N,)
    overall = float(np.median(deviation)) if len(deviation) else 0.0
    size = np.bincount(assignment, minlength=k)
    spread = (size * _medians(deviation, assignment, k) + PRIOR_TEXTS * overall) / (size + PRIOR_TEXTS)
    return median - deviations * MAD_TO_STANDARD_DEVIATION * spread


def is_outlier(
    features: Floats, assignment: Ints, clusters: Clusters, threshold: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether the similarity of each text (n,) to its category is below the threshold of the category."""
    return similarity_to(features, assignment, clusters) < threshold[assignment]


def similarity_to(features: Floats, assignment: Ints, clusters: Clusters) -> NDArray[np.float64]:
    """The similarity of each text to its category's centroid (n,)."""
    return np.einsum("nd,nd->n", features, clusters.centroids[assignment]).astype(np.float64)


def _medians(values: NDArray[np.float64], group: Ints, k: int) -> NDArray[np.float64]:
    """The median of the values of each group (k,); 0 for an empty group."""
    order = np.lexsort((values, group))
    size = np.bincount(group, minlength=k)
    start = np.cumsum(size) - size
    filled = size > 0
    found = np.zeros(k)
    lower, upper = (start + (size - 1) // 2)[filled], (start + size // 2)[filled]
    found[filled] = (values[order][lower] + values[order][upper]) / 2
    return found
