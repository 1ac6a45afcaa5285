"""The default estimator: the total with the highest silhouettes and the fewest negative ones.

N texts, n of them scored, T totals, L labels, K categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.estimators.base import (
    NEGATIVE_PENALTY,
    POWERS,
    Estimate,
    NumberEstimator,
    label_scores,
    readable,
)
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.auto import SILHOUETTE_KEPT
from subtaxa.clustering.rules.balanced import MAX_NEGATIVE_SHARE, BalanceCost, balance_cost
from subtaxa.clustering.rules.merged import best_merged
from subtaxa.settings import Settings

# A total is plausible if its score is within this share of the best mean silhouette of the best score.
PLAUSIBLE = 0.05

# The coarse and the fine total may lose this share of the best mean silhouette.
GRANULARITY_LOSS = 0.12

# The coarse and the fine total have at least this share fewer or more categories than the normal one.
GRANULARITY_STEP = 0.1

# With more texts than this, the number is estimated from a sample of this size.
TEXTS = 20_000

# The number of totals that are tried over the whole range.
TOTALS = 50

# The number of totals that are tried among the plausible ones.
PLAUSIBLE_TOTALS = 20

# The scores of totals whose logarithms differ by less than this are averaged, because a single one may be lucky.
SMOOTHING = 0.1

# If no total stands out, the five totals of an estimate are these multiples of √N, from coarse to fine.
WITHOUT_PEAK = (0.5, 2 / 3, 1.15, 2.0, 4.0)

# The step between the totals that are first tried for balanced categories, as a logarithm.
BALANCED_STEP = 0.05

# The number of totals tried around the best one for balanced categories.
BALANCED_TOTALS = 10

# A single coarse label has no other label to compare with. Below this mean silhouette it is one category.
SINGLE_LABEL_SILHOUETTE = 0.5


class SilhouetteEstimator(NumberEstimator):
    """The total with the highest mean silhouette, minus three times the share of texts with a negative one.

    Each total is divided among the labels by cutting all trees at one height, and scored by the categories it leads to.
    A text is compared with the categories of all labels. A label without inner structure therefore stays whole, because
    its halves would be nearer to each other than the whole is to any other label. A text with a negative silhouette is
    nearer to another category than to its own; a total that is too large or too small has more of them. The scores of
    similar totals are averaged.

    Totals with almost the best score are plausible, and the weighted middle of them is the estimate: the curve is flat,
    and its highest point is a matter of chance. If all categories turn out to have the same size, that points to a
    single total instead. The coarse and the fine total are further out, where scores are still fairly high. If no total
    stands out, the estimate is about √N, which gives as many texts per category as there are categories.
    """

    about: ClassVar[str] = "highest silhouettes and fewest negative ones, over totals for all labels"

    def __init__(self, plausible: float = PLAUSIBLE, silhouette_kept: float = SILHOUETTE_KEPT) -> None:
        self.plausible, self.silhouette_kept = plausible, silhouette_kept

    @classmethod
    def from_settings(cls, settings: Settings) -> SilhouetteEstimator:
        return cls(settings.plausible_loss, settings.balanced_silhouette)

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        n, fixed = len(forest.features), fixed or {}
        forest = forest.subsample(TEXTS)
        scores = TotalScores(forest, fixed)
        most = forest.max_categories(fixed)
        last = min(most, max(scores.least, 2 * readable(n)))
        totals = sorted(set(np.geomspace(scores.least, last, TOTALS).round().astype(int).tolist()))
        smooth = scores.smoothed(totals)
        best = int(smooth.argmax())
        scale = abs(scores.silhouette(totals[best]))
        leeway = self.plausible * scale
        low, normal, high = scores.middle(*_within(totals, smooth, leeway, beyond=1), leeway)
        coarse, fine = _within(totals, smooth, GRANULARITY_LOSS * scale)
        balanced = scores.balanced(coarse, fine, self.silhouette_kept, self.plausible / 2)
        low, normal, high = balanced or (low, normal, high)
        coarse = max(scores.least, min(coarse, low, int(normal * (1 - GRANULARITY_STEP))))
        fine = min(most, max(fine, high, int(normal * (1 + GRANULARITY_STEP)) + 1))
        blurred = scores.negative_share(normal) > MAX_NEGATIVE_SHARE
        if (best >= len(totals) - 3 or blurred) and last < most:  # The score keeps rising, or nothing is separated.
            coarse, low, normal, high, fine = (int(np.clip(x * n**0.5, scores.least, last)) for x in WITHOUT_PEAK)
        if len(forest.trees) == 1 and max(map(scores.silhouette, totals)) < SINGLE_LABEL_SILHOUETTE:
            low = normal = high = coarse = fine = 1
        return scores.estimate((coarse, low, normal, high, fine))


class TotalScores:
    """The totals that were tried: how each is divided among the labels, and the silhouettes it leads to."""

    def __init__(self, forest: Forest, fixed: Mapping[int, int]) -> None:
        self.forest, self.fixed = forest, fixed
        self.rows = forest.sample()
        self.least = sum(fixed.get(label, 1) for label in range(len(forest.trees)))
        self.numbers: dict[int, list[int]] = {}
        self.silhouettes: dict[int, NDArray[np.float64]] = {}  # (n,) of the sampled texts

    def silhouette(self, total: int) -> float:
        """The mean silhouette at this total."""
        if total not in self.silhouettes:
            self.numbers[total] = self.forest.divide(total, self.fixed)
            self.silhouettes[total] = best_merged(self.forest, self.numbers[total], self.rows, POWERS)[1]
        return float(self.silhouettes[total].mean())

    def negative_share(self, total: int) -> float:
        """The share of the texts that are nearer to another category than to their own."""
        self.silhouette(total)
        return float((self.silhouettes[total] < 0).mean())

    def score(self, total: int) -> float:
        """The mean silhouette at this total, minus the penalty for negative ones."""
        return self.silhouette(total) - NEGATIVE_PENALTY * self.negative_share(total)

    def smoothed(self, totals: Sequence[int]) -> NDArray[np.float64]:
        """The scores around each of these totals (T,)."""
        apart = np.abs(np.subtract.outer(np.log(totals), np.log(totals)))
        weight = np.maximum(0.0, 1.0 - apart / SMOOTHING)  # (T, T)
        return np.asarray(weight @ np.array([self.score(total) for total in totals]) / weight.sum(1))

    def middle(self, first: int, last: int, leeway: float) -> tuple[int, int, int]:
        """The lowest plausible total between two, the mean of the plausible ones weighted by score, and the highest."""
        totals = np.unique(np.geomspace(first, last, PLAUSIBLE_TOTALS).round().astype(int))
        smooth = self.smoothed(totals.tolist())
        spare = np.maximum(smooth - smooth.max() + leeway, 0.0)  # (T,)
        if not spare.any():  # There is no leeway at all.
            spare = (smooth == smooth.max()).astype(np.float64)
        middle = round(float(np.exp(np.average(np.log(totals), weights=spare))))
        plausible = totals[spare > 0]
        return int(plausible.min()), middle, int(plausible.max())

    def balanced(
        self, first: int, last: int, kept: float = SILHOUETTE_KEPT, leeway: float = PLAUSIBLE / 2
    ) -> tuple[int, int, int] | None:
        """The lowest plausible, the best, and the highest plausible total between two if categories are balanced.

        The best total has the fewest negative silhouettes in balanced categories: with a wrong one, texts are forced
        out of their category. None if balancing costs too much silhouette there.
        """
        found: dict[int, BalanceCost] = {}

        def best(totals: Iterable[int]) -> int:
            found.update(
                (total, balance_cost(self.forest, total, self.fixed)) for total in totals if total not in found
            )
            return min(found, key=lambda t: (found[t].negative_share, -round(found[t].silhouette_kept, 6), t))

        steps = 2 + int(np.log(last / first) / BALANCED_STEP)
        around = best(np.geomspace(first, last, steps).round().astype(int).tolist())
        near = max(1, round(BALANCED_STEP * around))
        closely = np.linspace(max(first, around - near), min(last, around + near), BALANCED_TOTALS)
        taken = best(closely.round().astype(int).tolist())
        if found[taken].silhouette_kept < kept:
            return None
        most = found[taken].negative_share + leeway
        plausible = [t for t, cost in found.items() if cost.silhouette_kept >= kept and cost.negative_share <= most]
        return min(plausible), taken, max(plausible)

    def estimate(self, totals: Sequence[int]) -> Estimate:
        """The estimate with these five totals, and everything that was tried."""
        for total in totals:
            self.score(total)
        tried, labels = sorted(self.silhouettes), self.forest.labels[self.rows]
        return Estimate(
            np.array([self.numbers[total] for total in tried]),
            np.array([label_scores(self.silhouettes[total], labels, len(self.forest.trees)) for total in tried]),
            np.array(totals),
        )


def _within(totals: Sequence[int], scores: NDArray[np.float64], leeway: float, beyond: int = 0) -> tuple[int, int]:
    """The lowest and the highest total whose score is within `leeway` of the best, or `beyond` totals further out."""
    enough = np.flatnonzero(scores >= scores.max() - leeway)
    return totals[max(0, enough[0] - beyond)], totals[min(len(totals) - 1, enough[-1] + beyond)]
