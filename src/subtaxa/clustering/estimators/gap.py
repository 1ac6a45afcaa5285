"""The gap statistic (Tibshirani et al. 2001) inside each label.

n texts of one label, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans

from subtaxa.clustering.estimators.base import MOST_PER_LABEL, Estimate, PerLabelEstimator
from subtaxa.clustering.forest import Forest
from subtaxa.runtime.arrays import Floats

# The number of texts per label that are used.
TEXTS = 1000

# The number of reference data sets, drawn uniformly over the ranges of the label's principal axes.
REFERENCES = 3


class GapEstimator(PerLabelEstimator):
    """The smallest number whose gap is not clearly smaller than that of the next number."""

    about: ClassVar[str] = "gap statistic inside each label"

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        self.rng = np.random.default_rng(0)
        return super().estimate(forest, fixed)

    def count(self, rows: Floats) -> int:
        rows = rows[:TEXTS]
        axes = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2]
        turned = (rows - rows.mean(0)) @ axes.T
        low, high = turned.min(0), turned.max(0)
        blanks = [self.rng.uniform(low, high, turned.shape).astype(np.float32) for _ in range(REFERENCES)]
        previous, k = None, 1
        for k in range(1, min(MOST_PER_LABEL, len(rows) - 1) + 1):
            logs = np.array([_log_inertia(blank, k) for blank in blanks])
            now = float(logs.mean() - _log_inertia(turned, k)), float(logs.std() * (1 + 1 / REFERENCES) ** 0.5)
            if previous is not None and previous[0] >= now[0] - now[1]:
                return k - 1
            previous = now
        return k


def _log_inertia(rows: Floats, k: int) -> float:
    return float(np.log(KMeans(k, n_init=1, random_state=0).fit(rows).inertia_ + 1e-9))
