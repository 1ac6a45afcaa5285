"""Cluster rules: ways to form a given number of categories. `cluster` and `find_categories` apply one.

A package adds a rule through the entry-point group `subtaxa.cluster_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.balanced import BalancedRule
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.rules.kmeans import KMeansRule
from subtaxa.clustering.rules.merged import MergedRule
from subtaxa.clustering.rules.tree import TreeRule
from subtaxa.clustering.rules.ward import WardRule
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.runtime.plugins import Registry
from subtaxa.settings import Settings

RULES: Registry[type[ClusterRule]] = Registry(
    "cluster rule",
    "subtaxa.cluster_rules",
    {"tree": TreeRule, "merged": MergedRule, "balanced": BalancedRule, "ward": WardRule, "kmeans": KMeansRule},
)

__all__ = ["RULES", "ClusterRule", "MergedRule", "TreeRule", "cluster", "find_categories", "rule_for"]


def rule_for(settings: Settings) -> ClusterRule:
    """The cluster rule that the settings name."""
    return RULES.get(settings.cluster_rule).from_settings(settings)


def cluster(
    features: Floats,
    labels: Ints,
    total: int,
    seed: int = 0,
    advance: Callable[[int], None] = lambda n: None,
    rule: ClusterRule | None = None,
) -> Clusters:
    """Categories below each coarse label, `total` of them."""
    forest = Forest(features, labels, seed, advance)
    return find_categories(forest, forest.divide(total), advance, rule)


def find_categories(
    forest: Forest,
    numbers: Sequence[int],
    advance: Callable[[int], None] = lambda n: None,
    rule: ClusterRule | None = None,
) -> Clusters:
    """The categories of a forest: `numbers[i]` of them below label i. All callers use this function."""
    found = (rule or TreeRule()).fit(forest, numbers)
    advance(len(forest.features))
    return found
