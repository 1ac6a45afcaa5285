"""The interface of a number estimator, and its result.

N texts, n of one label, T totals, L labels, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.merged import best_merged
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.settings import Settings

# The powers of Ward's factor that are tried for each total: Ward's own, and one for unbalanced categories.
POWERS = (1.0, 0.375)

# The largest number of categories per label that an estimator tries if it looks at each label separately.
MOST_PER_LABEL = 30


def readable(n_texts: int) -> int:
    """The number of categories that a reader can work with: 2·√N, so that number and size grow together."""
    return max(2, round(2 * n_texts**0.5))


class Estimate(NamedTuple):
    """The estimated total with its range, and the score of each total that was tried, label by label.

    A score is the mean silhouette of the label's texts.
    """

    numbers: Ints  # (T, L) how each total is divided among the labels
    scores: NDArray[np.float64]  # (T, L)
    totals: Ints  # (3,) the low, the estimated and the high total

    @property
    def total(self) -> int:
        """The estimated number of categories."""
        return int(self.totals[1])


class NumberEstimator:
    """One way to estimate the number of categories.

    An estimator is made without arguments or with keyword arguments that have defaults, and `estimate` is all it must
    define.
    """

    about: ClassVar[str]

    @classmethod
    def from_settings(cls, settings: Settings) -> NumberEstimator:
        """The estimator with the values that a user has set."""
        return cls()

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        """Estimate the number of categories of `forest.features` below `forest.labels`.

        Labels with a `fixed` number keep it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no estimate")


class PerLabelEstimator(NumberEstimator):
    """An estimator that counts the categories of each label separately."""

    def count(self, rows: Floats) -> int:
        """The number of categories of one label's texts (n, D)."""
        raise NotImplementedError(f"{type(self).__name__} has no count")

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        fixed = fixed or {}
        return single(
            forest,
            [
                fixed[label] if label in fixed else min(self.count(tree.features), tree.n_leaves)
                for label, tree in enumerate(forest.trees)
            ],
        )


def single(forest: Forest, numbers: Sequence[int]) -> Estimate:
    """An estimate without a range: one number for each label."""
    rows = forest.sample()
    scores = best_merged(forest, numbers, rows, POWERS)[1]  # (n,)
    return Estimate(
        np.array([numbers]),
        label_means(scores, forest.labels[rows], len(forest.trees))[None],
        np.full(3, sum(numbers)),
    )


def label_means(scores: NDArray[np.float64], labels: Ints, n_labels: int) -> NDArray[np.float64]:
    """The mean score of each label (L,), given the silhouettes (n,) of some texts and their labels (n,)."""
    size = np.maximum(np.bincount(labels, minlength=n_labels), 1)
    return np.asarray(np.bincount(labels, scores, n_labels) / size)
