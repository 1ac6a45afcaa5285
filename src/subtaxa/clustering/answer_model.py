"""A model of a user's answers: the probability that two groups of texts belong to one category.

It is a logistic regression with a prior (maximum a posteriori). Its inputs are the distance between the means of the
two groups, their sizes, and the coarse label, whose effect is pooled over the labels. Before the first answer it agrees
with the cut that is shown. An answer may be wrong, so that a single one cannot outweigh the others.

Two sides of a merge that differ need not be two categories. Where groups are mixed, one side often belongs to a
category that already stands elsewhere, and to undo the merge gains nothing. So a merge is kept if "same" is more likely
than "different" and new together (`merge_log_odds`).

Q questions, F = 3 + L inputs, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from subtaxa.runtime.arrays import Ints

Matrix = NDArray[np.float64]

# The log-odds that two groups are one category fall by this much if the merge of them costs e times as much. The median
# slope of the true labels of eight tasks.
SLOPE = 2.5

# In that cost, Ward's factor has this power. For users, sizes count a little less than in the tree.
POWER = 0.55

# How far the weights of different corpora lie apart: intercept, distance, size, and each label. All but the intercept
# have a normal prior with this standard deviation.
SCALES = (0.5, 1.0, 0.7, 0.5)

# The prior of the intercept is a Cauchy distribution: the first cut is usually about right, and sometimes wrong by far.
# So there may be several peaks, which are looked for at these distances from the start.
SHIFTS = (0.0, -2.0, -1.0, 1.0, 2.0)

# The share of the answers that are wrong.
WRONG = 0.1

# Of the merges whose sides differ, this share is worth undoing: both sides are categories of their own.
NEW = 0.5

# The largest number of steps to a peak.
STEPS = 40

# The climb ends when no weight changes by more than this.
SMALLEST_STEP = 1e-6


@dataclass(frozen=True)
class AnswerModel:
    """The weights (F,) of the model."""

    weights: NDArray[np.float64]

    def log_odds(self, inputs: Matrix) -> NDArray[np.float64]:
        """The log-odds (Q,) that the groups of each question are one category."""
        return np.asarray(inputs @ self.weights)

    def merge_log_odds(self, inputs: Matrix) -> NDArray[np.float64]:
        """The log-odds (Q,) that a merge of the groups of each question is worth keeping."""
        return self.log_odds(inputs) - np.log(NEW)


def inputs(distances: NDArray[np.float64], factors: NDArray[np.float64], labels: Ints, n_labels: int) -> Matrix:
    """The inputs (Q, F): 1, the logarithms of distances and of Ward's factors n·m/(n+m), and the labels."""
    rows = np.zeros((len(labels), 3 + n_labels))
    rows[:, 0] = 1.0
    rows[:, 1] = np.log(np.maximum(distances, 1e-9))
    rows[:, 2] = np.log(np.maximum(factors, 1e-9))
    rows[np.arange(len(labels)), 3 + labels] = 1.0
    return rows


def log_costs(inputs: Matrix) -> NDArray[np.float64]:
    """The logarithm (Q,) of what it costs to merge the groups of each question."""
    return np.asarray(inputs[:, 1] + POWER * inputs[:, 2])


def weights_before(log_threshold: float, n_labels: int) -> NDArray[np.float64]:
    """The weights (F,) without any answer: merges are kept if the logarithm of their cost is below a threshold."""
    start = np.zeros(3 + n_labels)
    start[:3] = SLOPE * log_threshold + np.log(NEW), -SLOPE, -SLOPE * POWER
    return start


def fit_answers(asked: Matrix, same: NDArray[np.bool_], start: NDArray[np.float64]) -> AnswerModel:
    """The model after the answers `same` (Q,) to the questions with inputs `asked` (Q, F), given the weights before."""
    if not len(asked):
        return AnswerModel(start)
    posterior = _Posterior(asked, same, start)
    found = [posterior.climb(start + shift * np.eye(len(start))[0]) for shift in SHIFTS]
    return AnswerModel(max(found, key=posterior.log_density))


@dataclass(frozen=True)
class _Posterior:
    """How likely weights are after the answers. It may have several peaks."""

    asked: Matrix  # (Q, F)
    same: NDArray[np.bool_]  # (Q,)
    start: NDArray[np.float64]  # (F,)

    @property
    def scales(self) -> NDArray[np.float64]:
        """The scale of the prior of each weight (F,)."""
        return np.concatenate([SCALES[:3], np.full(len(self.start) - 3, SCALES[3])])

    def chances(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability (Q,) of the answer "same"."""
        return np.asarray(WRONG + (1 - 2 * WRONG) * expit(self.asked @ weights))

    def log_density(self, weights: NDArray[np.float64]) -> float:
        """The logarithm of the posterior density, up to a constant."""
        chance, moved = self.chances(weights), (weights - self.start) / self.scales
        prior = -np.log1p(moved[0] ** 2) - 0.5 * (moved[1:] ** 2).sum()
        return float(np.log(np.where(self.same, chance, 1 - chance)).sum() + prior)

    def step(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The step (F,) of Fisher scoring, in which the Cauchy prior of the intercept is a normal one of its width."""
        sure, chance = expit(self.asked @ weights), self.chances(weights)  # (Q,)
        slope, noise = (1 - 2 * WRONG) * sure * (1 - sure), chance * (1 - chance)
        precision = 1.0 / np.square(self.scales)
        precision[0] = 2.0 / (self.scales[0] ** 2 + (weights[0] - self.start[0]) ** 2)
        gradient = self.asked.T @ (slope * (self.same - chance) / noise) - precision * (weights - self.start)
        information = (self.asked * (slope**2 / noise)[:, None]).T @ self.asked + np.diag(precision)
        return np.asarray(np.linalg.solve(information, gradient))

    def climb(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The peak (F,) above these weights."""
        best = self.log_density(weights)
        for _ in range(STEPS):
            step = self.step(weights)
            while (found := self.log_density(weights + step)) < best and np.abs(step).max() >= SMALLEST_STEP:
                step = step / 2  # The density is not concave, so a whole step may lead too far.
            if found < best or np.abs(step).max() < SMALLEST_STEP:
                break
            weights, best = weights + step, found
        return weights


def told(same: bool, times: int) -> float:
    """What an answer to one question itself, given some times, adds to its log-odds."""
    return float((1 if same else -1) * times * np.log((1 - WRONG) / WRONG))
