"""A model of a user's answers: the probability that two groups of texts belong to one category.

It is a logistic regression with a prior (maximum a posteriori). Its inputs are the distance between the means of the
two groups, their sizes, and the coarse label, whose effect is pooled over the labels. Before the first answer it agrees
with the cut that is shown. An answer may be wrong: each has a small probability of saying nothing, so that a single one
cannot outweigh the others.

Q questions, F = 3 + L inputs, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from subtaxa.runtime.arrays import Ints

Matrix = NDArray[np.float64]

# The log-odds that two groups are one category fall by this much if the merge of them costs e times as much.
SLOPE = 4.0

# The standard deviations of the weights: intercept, distance, size, and each label. Users differ most in how fine they
# want their categories, which is the intercept.
SPREADS = (2.0, 1.0, 0.7, 0.3)

# The share of the answers that may be wrong.
WRONG = 0.1

# The largest number of Newton steps.
STEPS = 25


@dataclass(frozen=True)
class AnswerModel:
    """The weights (F,) of the model."""

    weights: NDArray[np.float64]

    def log_odds(self, inputs: Matrix) -> NDArray[np.float64]:
        """The log-odds (Q,) that the groups of each question are one category."""
        return np.asarray(inputs @ self.weights)


def inputs(distances: NDArray[np.float64], factors: NDArray[np.float64], labels: Ints, n_labels: int) -> Matrix:
    """The inputs (Q, F): 1, the logarithms of distances and of Ward's factors n·m/(n+m), and the labels."""
    rows = np.zeros((len(labels), 3 + n_labels))
    rows[:, 0] = 1.0
    rows[:, 1] = np.log(np.maximum(distances, 1e-9))
    rows[:, 2] = np.log(np.maximum(factors, 1e-9))
    rows[np.arange(len(labels)), 3 + labels] = 1.0
    return rows


def weights_before(threshold: float, power: float, n_labels: int) -> NDArray[np.float64]:
    """The weights (F,) without any answer: groups are one category if distance · factor^power is below a threshold."""
    start = np.zeros(3 + n_labels)
    start[:3] = SLOPE * np.log(threshold), -SLOPE, -SLOPE * power
    return start


def fit_answers(asked: Matrix, same: NDArray[np.bool_], start: NDArray[np.float64]) -> AnswerModel:
    """The model after the answers `same` (Q,) to the questions with inputs `asked` (Q, F), given the weights before."""
    n_labels = len(start) - 3
    precision = 1.0 / np.square(np.concatenate([SPREADS[:3], np.full(n_labels, SPREADS[3])]))
    weights, truth = start.copy(), same.astype(np.float64)
    for _ in range(STEPS if len(asked) else 0):
        sure = expit(asked @ weights)  # (Q,)
        chance = WRONG + (1 - 2 * WRONG) * sure  # (Q,) of the answer "same"
        slope = (1 - 2 * WRONG) * sure * (1 - sure)
        gradient = asked.T @ (slope * (truth - chance) / (chance * (1 - chance))) - precision * (weights - start)
        information = (asked * (slope**2 / (chance * (1 - chance)))[:, None]).T @ asked + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return AnswerModel(weights)


def told(times_same: int) -> float:
    """What the answers about one question itself add to its log-odds. Answers of "different" count negatively."""
    return float(times_same * -logit(WRONG))
