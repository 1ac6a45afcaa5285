"""Stability: the smallest total for which two halves of the texts lead to about the same categories.

N texts, L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from subtaxa.clustering.estimators.base import Estimate, NumberEstimator, readable, single
from subtaxa.clustering.forest import Forest
from subtaxa.runtime.arrays import Ints, means, unit

# The number of totals that are tried.
TOTALS = 24

# The number of random divisions into two halves.
DIVISIONS = 4

# A total is stable if its agreement reaches this share of the highest one.
STABLE = 0.98


class StabilityEstimator(NumberEstimator):
    """The smallest total at which the categories of two halves of the texts agree almost as well as at any other."""

    about: ClassVar[str] = "smallest total at which two halves of the texts lead to the same categories"

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        fixed, labels, rng = fixed or {}, forest.labels, np.random.default_rng(0)
        n_labels = len(forest.trees)
        pairs = []
        for _ in range(DIVISIONS):
            first = np.zeros(len(labels), dtype=bool)
            for members in forest.members:
                mixed = rng.permutation(members)
                first[mixed[: len(mixed) // 2]] = True
            single_text = np.bincount(labels)[labels] == 1  # Both halves need a text of each label.
            masks = (first | single_text, ~first)
            pairs.append([Forest(forest.features[half], labels[half]) for half in masks])
        least = sum(fixed.get(label, 1) for label in range(n_labels))
        most = min(half.max_categories(fixed) for pair in pairs for half in pair)
        last = max(least, min(most, 2 * readable(len(labels))))
        tried = np.geomspace(min(1.25 * least, last), last, TOTALS).astype(int).clip(least, last)
        totals = np.unique(tried).tolist()
        agreement = np.zeros(len(totals))
        for halves in pairs:
            for i, total in enumerate(totals):
                one, other = (_assigned(forest, half, total, fixed) for half in halves)
                for label in range(n_labels):
                    own = labels == label
                    agreement[i] += own.mean() * adjusted_mutual_info_score(one[own], other[own])
        stable = totals[int(np.flatnonzero(agreement >= STABLE * agreement.max())[0])]
        return single(forest, forest.divide(stable, fixed))


def _assigned(forest: Forest, half: Forest, total: int, fixed: Mapping[int, int]) -> Ints:
    """The category of each text (N,): the nearest centroid of its label when a half is cut into a total."""
    assigned = np.empty(len(forest.features), dtype=np.int64)
    for members, tree, k in zip(forest.members, half.trees, half.divide(total, fixed), strict=True):
        k = min(k, tree.n_leaves)
        centroids = unit(means(tree.features, tree.cut(k), k)[0])
        assigned[members] = (forest.features[members] @ centroids.T).argmax(1)
    return assigned
