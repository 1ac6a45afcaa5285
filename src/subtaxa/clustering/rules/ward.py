"""Categories by cutting the Ward trees, without refinement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.runtime.arrays import means, unit


class WardRule(ClusterRule):
    """The means of the clusters of each label's Ward tree."""

    about: ClassVar[str] = "cut of one Ward tree per label"

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        centroids = unit(means(forest.features, forest.cut(numbers), sum(numbers))[0])
        return Clusters(centroids, np.repeat(np.arange(len(numbers)), numbers))
