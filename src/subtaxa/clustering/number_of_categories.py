"""The number of categories below each label: divided from a given total, or from an estimated one.

L labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from subtaxa.clustering.estimators import NumberEstimator, SilhouetteEstimator
from subtaxa.clustering.estimators.base import Estimate, readable
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules import AutoRule, ClusterRule, balance

__all__ = ["CategoryCount", "Estimate", "divide_total", "numbers_per_label", "readable"]


class CategoryCount(NamedTuple):
    """The number of categories below one label, the plausible range, and the score of each number that was tried."""

    chosen: int
    low: int
    high: int
    curve: tuple[tuple[int, float], ...]  # empty where the number was given
    balanced: bool = False  # whether all categories have the same size

    @classmethod
    def given(cls, number: int) -> CategoryCount:
        """A number that was not estimated."""
        return cls(number, number, number, ())

    @property
    def even(self) -> bool:
        """The name of `balanced` in 0.1.0."""
        return self.balanced

    def to_dict(self) -> dict[str, Any]:
        """The fields under the names that run.json has used since 0.1.0."""
        fields = self._asdict()
        return {"even" if name == "balanced" else name: value for name, value in fields.items()}


def divide_total(
    forest: Forest, total: int, fixed: Mapping[int, int] | None = None, rule: ClusterRule | None = None
) -> tuple[Forest, list[CategoryCount]]:
    """Divide a given total among the labels; also return the forest with its sizes balanced or not."""
    forest = balance(forest, total, rule or AutoRule(), fixed)
    return forest, [CategoryCount.given(number) for number in forest.divide(total, fixed)]


def numbers_per_label(
    forest: Forest,
    granularity: str = "normal",
    fixed: Mapping[int, int] | None = None,
    estimate: Estimate | None = None,
    rule: ClusterRule | None = None,
    estimator: NumberEstimator | None = None,
) -> tuple[Forest, list[CategoryCount]]:
    """Divide the estimated total among the labels; also return the forest with its sizes balanced or not.

    An `estimate` may come from other features of the same texts. Without one, the `estimator` makes it.
    """
    fixed, rule = fixed or {}, rule or AutoRule()
    if len(fixed) == len(forest.trees):
        return divide_total(forest, sum(fixed.values()), fixed, rule)
    estimate = estimate or (estimator or SilhouetteEstimator()).estimate(forest, fixed)
    coarse, low, normal, high, fine = np.minimum(estimate.totals, forest.max_categories(fixed)).tolist()
    total = {"coarse": coarse, "normal": normal, "fine": fine}[granularity]
    forest = balance(forest, total, rule, fixed)
    shares = zip(*(forest.divide(number, fixed) for number in (total, low, high)), strict=True)
    return forest, [
        CategoryCount.given(own)
        if label in fixed
        else CategoryCount(own, lowest, highest, _curve(estimate, label, own), forest.balanced)
        for label, (own, lowest, highest) in enumerate(shares)
    ]


def _curve(estimate: Estimate, label: int, chosen: int) -> tuple[tuple[int, float], ...]:
    """The score of each number of a label; that of a chosen number that was not tried is interpolated."""
    curve = dict(zip(estimate.numbers[:, label].tolist(), estimate.scores[:, label].tolist(), strict=True))
    numbers = sorted(curve)
    curve.setdefault(chosen, float(np.interp(chosen, numbers, [curve[number] for number in numbers])))
    return tuple(sorted(curve.items()))
