"""The default estimator: the middle of the totals at which the cut of the category tree is clearest.

N texts, n of them scored, T totals, L labels, K categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.estimators.base import Estimate, NumberEstimator, label_means
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.silhouettes import silhouettes
from subtaxa.settings import Settings

# A total whose silhouette is lower than the best by this share has 1/e of its weight.
PLAUSIBLE = 0.05

# A best silhouette below this counts as this, so that chance differences between blurred categories do not decide.
CLEAR = 0.25

# The number of totals that are tried.
TOTALS = 40

# Without evidence, a label has about this many categories, which is what most people can work with.
USUAL = 8

# The standard deviation of the logarithm of the number of categories per label, before the texts have been seen.
PRIOR_SPREAD = 1.0

# The low and the high total are smaller and larger than the estimated one by this factor.
RANGE = 5 / 3


class SilhouetteEstimator(NumberEstimator):
    """The mean of all totals, each weighted by how clearly its categories are separated.

    A cut of the category tree is scored by the mean silhouette of the texts in the untrained features. Training
    sharpens categories at the scale of its neighbourhoods, so the trained features would only confirm that scale. A
    text is compared with the categories of all labels: a label without inner structure stays whole, because its halves
    would be nearer to each other than the whole is to any other label.

    The curve is often flat, and its highest point is then a matter of chance. The estimate is therefore a weighted
    geometric mean. A weak prior prefers about eight categories per label, which matters only if the texts show little.
    """

    about: ClassVar[str] = "totals weighted by their silhouettes in the untrained features"

    def __init__(self, plausible: float = PLAUSIBLE) -> None:
        self.plausible = plausible

    @classmethod
    def from_settings(cls, settings: Settings) -> SilhouetteEstimator:
        return cls(settings.plausible_loss)

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        fixed, tree = fixed or {}, forest.category_tree
        n_labels, rows = tree.n_labels, forest.sample()
        least = sum(fixed.get(label, 1) for label in range(n_labels))
        most = sum(fixed.get(label, int(number)) for label, number in enumerate(tree.max_numbers))
        first = max(least, min(2, most)) if n_labels == 1 else least  # One category has no silhouette.
        totals = np.unique(np.geomspace(first, most, TOTALS).round().astype(int))
        numbers, scores = [], []  # (L,) each
        for total in totals.tolist():
            cut = tree.cut(total, fixed)
            assignment = tree.index_of_parts([[node] for node in cut])[tree.parts]  # (N,)
            score = silhouettes(forest.untrained, assignment, total, rows)  # (n,)
            numbers.append(tree.numbers(cut))
            scores.append(label_means(score, forest.labels[rows], n_labels))
        shares = np.bincount(forest.labels[rows], minlength=n_labels) / len(rows)
        middle = self._middle(totals, np.array(scores) @ shares, n_labels)
        low, high = round(middle / RANGE), round(middle * RANGE)
        estimated = np.clip([low, round(middle), high], min(first, most), most)
        return Estimate(np.array(numbers), np.array(scores), estimated)

    def _middle(self, totals: NDArray[np.int64], scores: NDArray[np.float64], n_labels: int) -> float:
        """The weighted geometric mean of the totals (T,), given their scores (T,)."""
        logs = np.log(totals)
        lost = (scores.max() - scores) / max(float(scores.max()), CLEAR)  # (T,) as a share of the best
        prior = 0.5 * ((logs - np.log(USUAL * n_labels)) / PRIOR_SPREAD) ** 2
        weight = np.exp(-lost / max(self.plausible, 1e-9) - prior) * np.gradient(logs) if len(logs) > 1 else np.ones(1)
        return float(np.exp(np.average(logs, weights=weight)))
