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

# The standard deviations of the weights: intercept, distance, size, and each label. They are about those that the
# weights of different corpora have among each other.
SPREADS = (0.6, 1.0, 0.7, 0.5)

# The share of the answers that are wrong.
WRONG = 0.1

# Of the merges whose sides differ, this share is worth undoing: both sides are categories of their own.
NEW = 0.5

# The largest number of Newton steps.
STEPS = 25

# Newton's method ends when no weight changes by more than this.
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
    n_labels = len(start) - 3
    precision = 1.0 / np.square(np.concatenate([SPREADS[:3], np.full(n_labels, SPREADS[3])]))
    trust = 1 - 2 * WRONG

    def chances(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability (Q,) of the answer "same"."""
        return np.asarray(WRONG + trust * expit(asked @ weights))

    def log_posterior(weights: NDArray[np.float64]) -> float:
        chance = chances(weights)
        return float(
            np.log(np.where(same, chance, 1 - chance)).sum() - 0.5 * (precision * (weights - start) ** 2).sum()
        )

    weights, best = start.copy(), log_posterior(start)
    for _ in range(STEPS if len(asked) else 0):
        sure, chance = expit(asked @ weights), chances(weights)  # (Q,)
        slope, noise = trust * sure * (1 - sure), chance * (1 - chance)
        gradient = asked.T @ (slope * (same - chance) / noise) - precision * (weights - start)
        information = (asked * (slope**2 / noise)[:, None]).T @ asked + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        while (found := log_posterior(weights + step)) < best and np.abs(step).max() >= SMALLEST_STEP:
            step /= 2  # The posterior is not concave, so a whole step may lead too far.
        if found < best or np.abs(step).max() < SMALLEST_STEP:
            break
        weights, best = weights + step, found
    return AnswerModel(weights)


def told(same: bool, times: int) -> float:
    """What an answer to one question itself, given some times, adds to its log-odds."""
    return float((1 if same else -1) * times * np.log((1 - WRONG) / WRONG))
