"""The default rule: a cut through the tree of categories, refined by k-means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.runtime.arrays import Ints


class TreeRule(ClusterRule):
    """A cut through the tree of categories, the same tree that `recut` uses."""

    about: ClassVar[str] = "cut of the category tree, refined by k-means"

    def cut(self, forest: Forest, numbers: Sequence[int]) -> Ints:
        tree = forest.tree_with(numbers)
        nodes = tree.cut(sum(numbers), dict(enumerate(numbers)))
        return nodes[tree.labels[nodes].argsort(kind="stable")]

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        nodes = self.cut(forest, numbers)
        return forest.category_tree.clusters(forest.features, [[node] for node in nodes.tolist()])
