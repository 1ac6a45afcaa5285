"""Cluster rules: ways to form a given number of categories. `cluster` and `find_categories` apply one.

A package adds a rule through the entry-point group `subtaxa.cluster_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.auto import AutoRule
from subtaxa.clustering.rules.balanced import BalancedRule
from subtaxa.clustering.rules.base import ClusterRule
from subtaxa.clustering.rules.kmeans import KMeansRule
from subtaxa.clustering.rules.merged import MergedRule
from subtaxa.clustering.rules.ward import WardRule
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.runtime.plugins import Registry
from subtaxa.settings import Settings

RULES: Registry[type[ClusterRule]] = Registry(
    "cluster rule",
    "subtaxa.cluster_rules",
    {"auto": AutoRule, "balanced": BalancedRule, "merged": MergedRule, "ward": WardRule, "kmeans": KMeansRule},
)

__all__ = ["RULES", "AutoRule", "ClusterRule", "MergedRule", "balance", "cluster", "find_categories", "rule_for"]


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
    rule = rule or AutoRule()
    forest = balance(Forest(features, labels, seed, advance), total, rule)
    return find_categories(forest, forest.divide(total), advance, rule)


def find_categories(
    forest: Forest,
    numbers: Sequence[int],
    advance: Callable[[int], None] = lambda n: None,
    rule: ClusterRule | None = None,
) -> Clusters:
    """The categories of a forest: `numbers[i]` of them below label i. All callers use this function."""
    found = (rule or AutoRule()).fit(forest, numbers)
    advance(len(forest.features))
    return found


def balance(forest: Forest, total: int, rule: ClusterRule, fixed: Mapping[int, int] | None = None) -> Forest:
    """The forest, marked as balanced if this rule forms balanced categories at this total."""
    return forest.as_balanced() if rule.balances(forest, total, fixed) else forest
