"""The total at which the cut through all Ward trees, without refinement, has the highest mean silhouette."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from subtaxa.clustering.estimators.base import Estimate, NumberEstimator, readable, single
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.silhouettes import silhouettes

# The number of totals that are tried.
TOTALS = 60


class CutSilhouetteEstimator(NumberEstimator):
    """One cut through the trees of all labels: the one with the highest mean silhouette."""

    about: ClassVar[str] = "highest mean silhouette of one cut through all Ward trees"

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        fixed, rows = fixed or {}, np.arange(len(forest.features))

        def silhouette(total: int) -> float:
            cut = forest.cut(forest.divide(total, fixed))
            return float(silhouettes(forest.features, cut, total, rows).mean())

        first = sum(fixed.get(label, 1) for label in range(len(forest.trees)))
        last = min(forest.max_categories(fixed), max(first, 2 * readable(len(forest.features))))
        totals = np.unique(np.geomspace(first, last, TOTALS).astype(int).clip(first, last)).tolist()
        return single(forest, forest.divide(max(totals, key=silhouette), fixed))
