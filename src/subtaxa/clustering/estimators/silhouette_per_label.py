"""The highest mean silhouette of k-means, inside each label separately."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans

from subtaxa.clustering.estimators.base import MOST_PER_LABEL, PerLabelEstimator
from subtaxa.clustering.silhouettes import silhouettes
from subtaxa.runtime.arrays import Floats


class LabelSilhouetteEstimator(PerLabelEstimator):
    """The highest mean silhouette of k-means inside each label. It never returns a single category."""

    about: ClassVar[str] = "highest mean silhouette of k-means, inside each label separately"

    def count(self, rows: Floats) -> int:
        scores = {}
        for k in range(2, min(MOST_PER_LABEL, len(rows) - 1) + 1):
            found = KMeans(k, n_init=1, random_state=0).fit_predict(rows).astype(np.int64)
            scores[k] = float(silhouettes(rows, found, k, np.arange(len(rows))).mean())
        return max(scores, key=lambda k: scores[k], default=1)
