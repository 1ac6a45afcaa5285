"""The contract of every number estimator, and how estimators are found by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from helpers.planted import blobs

from subtaxa.clustering.estimators import ESTIMATORS, Estimate, NumberEstimator, estimator_for
from subtaxa.clustering.estimators.silhouette import USUAL
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import numbers_per_label
from subtaxa.errors import SettingError
from subtaxa.runtime import plugins
from subtaxa.settings import Settings

every_estimator = pytest.mark.parametrize("name", ESTIMATORS.names())
CLEAR = blobs([[14] * 3, [14] * 2], spread=0.04)


def forest_of(sizes: list[list[int]], spread: float = 0.05) -> Forest:
    data = blobs(sizes, spread=spread)
    return Forest(data.features, data.labels)


@every_estimator
def test_an_estimate_is_a_total_in_its_range_with_a_curve_for_each_label(name: str) -> None:
    forest = forest_of([[14] * 3, [14] * 2, [9]], 0.2)
    estimate = ESTIMATORS.get(name)().estimate(forest)
    tried, labels = estimate.numbers.shape
    assert labels == 3
    assert estimate.scores.shape == (tried, 3)
    assert np.isfinite(estimate.scores).all()
    assert estimate.totals.tolist() == sorted(estimate.totals.tolist())
    assert len(estimate.totals) == 3
    assert 3 <= estimate.total <= forest.max_categories()
    choices = numbers_per_label(forest, estimator=ESTIMATORS.get(name)())
    assert sum(choice.chosen for choice in choices) == estimate.total
    assert sum(choice.low for choice in choices) == estimate.totals[0]
    assert sum(choice.high for choice in choices) == estimate.totals[2]
    assert all(1 <= c.chosen <= tree.n_leaves for c, tree in zip(choices, forest.trees, strict=True))


@every_estimator
def test_fixed_numbers_are_kept(name: str) -> None:
    estimate = ESTIMATORS.get(name)().estimate(forest_of([[14] * 3, [14] * 2]), {1: 4})
    assert set(estimate.numbers[:, 1].tolist()) == {4}


@every_estimator
def test_an_estimator_gives_the_same_result_every_time(name: str) -> None:
    forest = forest_of([[14] * 3, [14] * 2], 0.3)
    estimator = ESTIMATORS.get(name)()
    for first, second in zip(estimator.estimate(forest), estimator.estimate(forest), strict=True):
        np.testing.assert_array_equal(first, second)


@every_estimator
def test_labels_of_one_text_have_one_category(name: str) -> None:
    forest = forest_of([[1], [14, 14]])
    assert set(ESTIMATORS.get(name)().estimate(forest).numbers[:, 0].tolist()) == {1}
    assert numbers_per_label(forest, estimator=ESTIMATORS.get(name)())[0].chosen == 1


@pytest.mark.parametrize("name", ["silhouette", "silhouette-of-cut", "silhouette-per-label"])
def test_well_separated_categories_are_counted(name: str) -> None:
    choices = numbers_per_label(Forest(CLEAR.features, CLEAR.labels), estimator=ESTIMATORS.get(name)())
    assert [choice.chosen for choice in choices] == [3, 2]


@every_estimator
def test_an_estimator_is_made_from_settings_and_says_what_it_does(name: str) -> None:
    estimator = estimator_for(Settings.from_preset(number_estimator=name))
    assert type(estimator) is ESTIMATORS.get(name)
    assert estimator.about


def test_with_a_larger_plausible_loss_the_usual_number_counts_more() -> None:
    forest = forest_of([[12] * 3, [20] * 6, [15]], 0.25)
    totals = [
        estimator_for(Settings.from_preset(plausible_loss=loss)).estimate(forest).total for loss in (0.01, 0.3, 1.0)
    ]
    assert 10 <= totals[0] < totals[1] < totals[2] <= USUAL * 3


class Constant(NumberEstimator):
    """An estimator of another package."""

    about = "always the number of labels"

    def estimate(self, forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
        n = len(forest.trees)
        return Estimate(np.ones((1, n), dtype=np.int64), np.zeros((1, n)), np.full(3, n))


def test_an_estimator_of_an_installed_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("constant", f"{__name__}:Constant", ESTIMATORS.group)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Constant)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == "subtaxa.number_estimators" else [])
    estimator = estimator_for(Settings.from_preset(number_estimator="constant"))
    choices = numbers_per_label(Forest(CLEAR.features, CLEAR.labels), estimator=estimator)
    assert [choice.chosen for choice in choices] == [1, 1]


def test_an_unknown_estimator_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SettingError, match=r"unknown number estimator 'gab': did you mean 'gap'\?"):
        ESTIMATORS.get("gab")
