"""The default rule: balanced categories where the texts show equal sizes, merged ones elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.balanced import balance_cost, balanced
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.rules.merged import MergedRule
from subtaxa.settings import Settings

# Categories count as balanced if forcing them to equal sizes keeps this share of the mean silhouette.
SILHOUETTE_KEPT = 0.96


class AutoRule(ClusterRule):
    """Balanced categories if forcing them to equal sizes costs hardly any silhouette, otherwise merged ones."""

    about: ClassVar[str] = "balanced if the texts show categories of equal size, otherwise merged"

    def __init__(self, silhouette_kept: float = SILHOUETTE_KEPT) -> None:
        self.silhouette_kept = silhouette_kept

    @classmethod
    def from_settings(cls, settings: Settings) -> AutoRule:
        return cls(settings.balanced_silhouette)

    def balances(self, forest: Forest, total: int, fixed: Mapping[int, int] | None = None) -> bool:
        return balance_cost(forest, total, fixed).silhouette_kept >= self.silhouette_kept

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        if forest.balanced:
            found = balanced(forest, numbers).balanced
            if len(np.unique(found.nearest(forest.features, forest.labels))) == len(found):
                return found
        return MergedRule().fit(forest, numbers)
