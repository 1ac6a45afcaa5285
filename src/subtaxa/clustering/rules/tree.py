"""The default rule: a cut through the tree of categories, refined by k-means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule


class TreeRule(ClusterRule):
    """A cut through the tree of categories, the same tree that `recut` uses."""

    about: ClassVar[str] = "cut of the category tree, refined by k-means"

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        tree = forest.tree_with(numbers)
        cut = tree.cut(sum(numbers), dict(enumerate(numbers)))
        found = tree.clusters(forest.features, [[node] for node in cut])
        order = found.parents.argsort(kind="stable")
        return Clusters(found.centroids[order], found.parents[order])
