"""The number of categories below each label: divided from a given total, or from an estimated one.

L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from subtaxa.clustering.estimators import NumberEstimator, SilhouetteEstimator
from subtaxa.clustering.estimators.base import Estimate, readable
from subtaxa.clustering.forest import Forest

__all__ = ["CategoryCount", "Estimate", "divide_total", "numbers_per_label", "readable"]


class CategoryCount(NamedTuple):
    """The number of categories below one label, the plausible range, and the score of each number that was tried."""

    chosen: int
    low: int
    high: int
    curve: tuple[tuple[int, float], ...]  # empty where the number was given

    @classmethod
    def given(cls, number: int) -> CategoryCount:
        """A number that was not estimated."""
        return cls(number, number, number, ())


def divide_total(forest: Forest, total: int, fixed: Mapping[int, int] | None = None) -> list[CategoryCount]:
    """Divide a given total among the labels, as the cut of the category tree does."""
    tree = forest.tree_with(forest.divide(total, fixed))
    return [CategoryCount.given(number) for number in tree.numbers(tree.cut(total, fixed))]


def numbers_per_label(
    forest: Forest,
    granularity: str = "normal",
    fixed: Mapping[int, int] | None = None,
    estimator: NumberEstimator | None = None,
) -> list[CategoryCount]:
    """The estimated number of each label that has no `fixed` one, with its range."""
    fixed = fixed or {}
    tree = forest.tree_with([fixed.get(label, 1) for label in range(len(forest.trees))])
    if len(fixed) == len(forest.trees):
        return divide_total(forest, sum(fixed.values()), fixed)
    estimate = (estimator or SilhouetteEstimator()).estimate(forest, fixed)
    most = sum(fixed.get(label, int(number)) for label, number in enumerate(tree.max_numbers))
    low, normal, high = np.minimum(estimate.totals, most).tolist()
    total = {"coarse": low, "normal": normal, "fine": high}[granularity]
    shares = zip(*(tree.numbers(tree.cut(number, fixed)) for number in (total, low, high)), strict=True)
    return [
        CategoryCount.given(own)
        if label in fixed
        else CategoryCount(own, lowest, highest, _curve(estimate, label, own))
        for label, (own, lowest, highest) in enumerate(shares)
    ]


def _curve(estimate: Estimate, label: int, chosen: int) -> tuple[tuple[int, float], ...]:
    """The score of each number of a label; that of a chosen number that was not tried is interpolated."""
    curve = dict(zip(estimate.numbers[:, label].tolist(), estimate.scores[:, label].tolist(), strict=True))
    numbers = sorted(curve)
    curve.setdefault(chosen, float(np.interp(chosen, numbers, [curve[number] for number in numbers])))
    return tuple(sorted(curve.items()))
