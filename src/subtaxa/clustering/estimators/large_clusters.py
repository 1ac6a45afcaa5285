"""DeepAligned's estimate: make too many clusters, and count those of at least average size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans

from subtaxa.clustering.estimators.base import MOST_PER_LABEL, PerLabelEstimator
from subtaxa.runtime.arrays import Floats


class LargeClustersEstimator(PerLabelEstimator):
    """K-means with too many clusters inside each label; those of at least average size count."""

    about: ClassVar[str] = "DeepAligned's rule: clusters of at least average size among too many"

    def count(self, rows: Floats) -> int:
        k = min(2 * MOST_PER_LABEL, len(rows) // 4 or 1)
        sizes = np.bincount(KMeans(k, n_init=3, random_state=0).fit_predict(rows), minlength=k)
        return max(1, int((sizes >= len(rows) / k).sum()))
