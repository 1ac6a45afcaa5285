"""The number of categories: planted numbers are estimated by silhouettes, and given numbers are kept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.planted import Planted, blobs, unit_rows
from sklearn.metrics import silhouette_samples

from subtaxa.clustering.estimators.silhouette import RANGE, USUAL, SilhouetteEstimator
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import CategoryCount, divide_total, numbers_per_label
from subtaxa.clustering.silhouettes import silhouettes


def estimated(data: Planted) -> int:
    return total(Forest(data.features, data.labels))


def total(forest: Forest) -> int:
    return sum(choice.chosen for choice in numbers_per_label(forest))


@pytest.mark.parametrize(
    "sizes", [[[12] * 2, [12]], [[12] * 3, [12] * 5], [[15, 30], [10] * 6, [9, 20, 14]], [[8] * 23]]
)
def test_the_planted_number_is_estimated(sizes: list[list[int]]) -> None:
    planted = sum(map(len, sizes))
    for seed in range(3):
        assert estimated(blobs(sizes, spread=0.06, seed=seed)) == planted


def test_every_number_near_the_best_is_tried() -> None:
    """More numbers are possible than are tried over the whole range."""
    assert estimated(blobs([[11] * 37], spread=0.03, dim=40)) == 37


def test_labels_without_inner_structure_have_one_category_each() -> None:
    assert estimated(blobs([[40], [25], [30]], spread=0.1)) == 3


@pytest.mark.parametrize("texts", [1, 2, 3, 30])
def test_one_repeated_text_is_one_category(texts: int) -> None:
    assert total(Forest(unit_rows(np.ones((texts, 8))), np.zeros(texts, dtype=np.int64))) == 1


@pytest.mark.parametrize("distinct", [2, 4])
def test_a_few_repeated_texts_are_one_category_each(distinct: int) -> None:
    """There are 20 copies of each message."""
    features = np.repeat(np.eye(8, dtype=np.float32)[:distinct], 20, axis=0)
    assert total(Forest(features, np.zeros(len(features), dtype=np.int64))) == distinct


def test_granularity_chooses_the_ends_of_the_range() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.3, dim=16)
    forest = Forest(data.features, data.labels)
    coarse, normal, fine = (numbers_per_label(forest, granularity) for granularity in ("coarse", "normal", "fine"))
    for low, middle, high in zip(coarse, normal, fine, strict=True):
        assert low.chosen == middle.low <= middle.chosen <= middle.high == high.chosen
        numbers = [number for number, _ in middle.curve]
        assert numbers == sorted(set(numbers))
        assert middle.chosen in numbers
    totals = [sum(c.chosen for c in some) for some in (coarse, normal, fine)]
    assert totals == [round(totals[1] / RANGE), totals[1], pytest.approx(totals[1] * RANGE, abs=1)]


def middle(scores: list[float], totals: np.ndarray, n_labels: int, plausible: float = 0.05) -> float:
    return SilhouetteEstimator(plausible)._middle(totals, np.array(scores), n_labels)


def test_the_estimate_is_the_weighted_middle_of_the_totals() -> None:
    """A single lucky total has little effect, a sharp peak decides, and without evidence the usual number does."""
    totals = np.unique(np.geomspace(2, 400, 60).round().astype(int))
    smooth = 0.5 - 0.2 * np.abs(np.log(totals / 100))
    peak = totals[np.abs(totals - 83).argmin()]
    lucky = np.where(totals == peak, 0.52, smooth)
    assert middle(smooth.tolist(), totals, 12) == pytest.approx(100, rel=0.03)
    assert middle(lucky.tolist(), totals, 12) == pytest.approx(100, rel=0.1)
    assert middle(lucky.tolist(), totals, 12, plausible=1e-6) == pytest.approx(peak)
    assert middle([0.3] * len(totals), totals, 3) == pytest.approx(USUAL * 3, rel=0.1)


def test_differences_between_blurred_categories_do_not_decide() -> None:
    """The best silhouette is low, so that a difference of half of it moves the estimate less than in clear texts."""
    totals = np.unique(np.geomspace(2, 400, 60).round().astype(int))
    rising = np.log(totals) / np.log(400)  # from 0.1 to 1
    clear, blurred = (middle((height * rising).tolist(), totals, 3) for height in (0.5, 0.02))
    assert clear > 150
    assert blurred < 50


def test_the_features_before_training_decide() -> None:
    """Training divided each of the four categories that the texts suggest into clear halves."""
    texts = blobs([[40] * 2, [40] * 2], spread=0.05)
    side = np.where(np.arange(len(texts)) % 2, 0.6, -0.6)[:, None] * np.eye(24)[texts.truth]
    trained = unit_rows(texts.features + side)
    assert sum(c.chosen for c in numbers_per_label(Forest(trained, texts.labels))) == 8
    found = numbers_per_label(Forest(trained, texts.labels, untrained=texts.features))
    assert [c.chosen for c in found] == [2, 2]


def test_a_given_total_is_divided_as_the_cut_does() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.06)
    forest = Forest(data.features, data.labels)
    assert divide_total(forest, 10) == [CategoryCount.given(number) for number in (3, 6, 1)]
    assert [count.chosen for count in divide_total(forest, 12, {1: 2})][1] == 2
    most = forest.max_categories()
    assert [count.chosen for count in divide_total(forest, most)] == [36, 120, 15]  # More than the tree usually has.


def test_fixed_numbers_are_kept_and_the_others_are_estimated() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.06)
    forest = Forest(data.features, data.labels)
    found = numbers_per_label(forest, fixed={0: 5})
    assert [choice.chosen for choice in found] == [5, 6, 1]
    assert found[0] == CategoryCount(5, 5, 5, ())
    assert [choice.chosen for choice in numbers_per_label(forest, "fine", {0: 5, 1: 2, 2: 4})] == [5, 2, 4]


@pytest.mark.parametrize("seed", range(3))
def test_silhouettes_equal_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, assignment = unit_rows(rng.normal(size=(60, 6))), rng.integers(5, size=60)
    assignment[0] = 5  # This category has one text.
    rows = np.sort(rng.permutation(60)[:40])
    rows[0] = 0
    expected = silhouette_samples(features.astype(np.float64), assignment, metric="cosine")[rows]
    assert silhouettes(features, assignment, 6, rows) == pytest.approx(expected, abs=1e-5)
    assert silhouettes(features, assignment, 8, rows) == pytest.approx(expected, abs=1e-5)  # Two categories are empty.


def test_silhouettes_of_a_single_category_are_zero() -> None:
    features = unit_rows(np.random.default_rng(0).normal(size=(9, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A user would see a warning from numpy.
        assert silhouettes(features, np.zeros(9, dtype=np.int64), 1, np.arange(9)).tolist() == [0.0] * 9
