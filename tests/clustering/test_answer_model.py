"""The model of a user's answers: where it starts, how answers move it, and that a wrong one hardly does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import cauchy, norm

from subtaxa.clustering import answer_model
from subtaxa.clustering.answer_model import (
    NEW,
    POWER,
    SCALES,
    WRONG,
    fit_answers,
    inputs,
    log_costs,
    told,
    weights_before,
)

LABELS = 2


def asked_at(costs: list[float] | np.ndarray, label: int = 0) -> np.ndarray:
    """Questions about groups of the given distance; Ward's factor is 1, so it is also the cost of the merge."""
    distances = np.array(costs, dtype=float)
    return inputs(distances, np.ones(len(distances)), np.full(len(distances), label), LABELS)


def test_the_inputs_are_logarithms_and_the_label() -> None:
    found = inputs(np.array([1.0, np.e, 0.0]), np.array([1.0, 1.0, np.e**2]), np.array([0, 1, 1]), 2)
    assert found[:2].tolist() == [[1, 0, 0, 1, 0], [1, 1, 0, 0, 1]]
    assert found[2].tolist() == pytest.approx([1, np.log(1e-9), 2, 0, 1])


def test_without_answers_the_threshold_decides() -> None:
    rng = np.random.default_rng(0)
    distances, factors = rng.uniform(0.1, 4, 200), rng.uniform(0.5, 2, 200)
    rows = inputs(distances, factors, rng.integers(LABELS, size=200), LABELS)
    model = fit_answers(np.empty((0, 5)), np.empty(0, dtype=bool), weights_before(np.log(2), LABELS))
    below = distances * factors**POWER < 2.0
    assert log_costs(rows) == pytest.approx(np.log(distances * factors**POWER))
    assert 20 < below.sum() < 180
    assert ((model.merge_log_odds(rows) > 0) == below).all()
    at_threshold = inputs(np.array([2.0]), np.ones(1), np.zeros(1, dtype=int), LABELS)
    assert expit(model.log_odds(at_threshold)) == pytest.approx(NEW / (1 + NEW))


def threshold_of(asked: np.ndarray, same: list[bool], start: float = 1.0, label: int = 0) -> float:
    """The distance at which the model is undecided, after these answers."""
    model = fit_answers(asked, np.array(same, dtype=bool), weights_before(np.log(start), LABELS))
    grid = np.geomspace(0.01, 100, 4001)
    return float(grid[np.abs(model.merge_log_odds(asked_at(grid, label))).argmin()])


@pytest.mark.parametrize("truth", [0.2, 0.3, 0.6, 1.7, 3.0, 5.0])
def test_consistent_answers_move_the_threshold_to_the_truth(truth: float) -> None:
    """Nearly all the way if the first cut was far off, about half of it if it was nearly right."""
    costs = truth * np.linspace(0.6, 1.6, 21)
    moved = np.log(threshold_of(asked_at(costs), (costs < truth).tolist())) / np.log(truth)
    assert (0.8 if abs(np.log(truth)) > 1 else 0.4) < moved < 1.05


def test_more_answers_move_it_further() -> None:
    moved = [threshold_of(asked_at([1.5] * n), [True] * n) for n in (0, 1, 3, 10)]
    assert moved[0] == pytest.approx(1.0, abs=0.01)
    assert moved == sorted(moved)
    assert moved[1] < moved[3]


def test_a_single_wrong_answer_hardly_moves_it() -> None:
    costs = np.linspace(0.6, 1.6, 21)
    right = threshold_of(asked_at(costs), (costs < 1).tolist())
    for cost, says in ((5.0, True), (0.2, False)):
        wrong = threshold_of(asked_at([*costs, cost]), [*(costs < 1).tolist(), says])
        assert abs(np.log(wrong / right)) < 0.05
    alone = threshold_of(asked_at([50.0]), [True])
    assert abs(np.log(alone)) < 0.05  # It is more likely that the answer is wrong.


def test_answers_about_one_label_move_the_others_less() -> None:
    costs = np.full(10, 1.4)
    own, other = (threshold_of(asked_at(costs, 0), [True] * 10, label=label) for label in (0, 1))
    assert 1.02 < other < own


@pytest.mark.parametrize("seed", range(5))
def test_the_fitted_weights_are_where_the_gradient_by_finite_differences_is_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = inputs(rng.uniform(0.3, 3, 30), rng.uniform(0.5, 2, 30), rng.integers(LABELS, size=30), LABELS)
    start = weights_before(0.0, LABELS)
    same = rng.random(30) < expit(asked @ (start + rng.normal(scale=0.5, size=5)))

    def log_posterior(weights: np.ndarray) -> float:
        chance = WRONG + (1 - 2 * WRONG) * expit(asked @ weights)
        moved = (weights - start) / np.array([*SCALES[:3], *[SCALES[3]] * LABELS])
        prior = cauchy.logpdf(moved[0]) + norm.logpdf(moved[1:]).sum()
        return float(np.log(np.where(same, chance, 1 - chance)).sum() + prior)

    found = fit_answers(asked, same, start).weights
    for direction in np.eye(5):
        slope = (log_posterior(found + 1e-5 * direction) - log_posterior(found - 1e-5 * direction)) / 2e-5
        assert slope == pytest.approx(0, abs=1e-3)
    assert log_posterior(found) >= log_posterior(start)


def test_what_answers_say_about_their_own_question() -> None:
    assert told(True, 1) == pytest.approx(np.log((1 - WRONG) / WRONG))
    assert told(False, 1) == -told(True, 1)
    assert told(False, 2) == pytest.approx(2 * told(False, 1))


def test_the_model_does_not_diverge_on_answers_that_contradict_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is the opposite of what the threshold says."""
    costs = np.geomspace(0.2, 5, 40)
    found = fit_answers(asked_at(costs), costs > 1, weights_before(0.0, LABELS)).weights
    monkeypatch.setattr(answer_model, "STEPS", 200)
    longer = fit_answers(asked_at(costs), costs > 1, weights_before(0.0, LABELS)).weights
    np.testing.assert_allclose(found, longer, atol=1e-3)
    assert np.abs(found).max() < 10
