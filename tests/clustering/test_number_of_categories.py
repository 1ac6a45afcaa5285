"""The number of categories: planted numbers are estimated by silhouettes, and given numbers are kept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.planted import Planted, blobs, unit_rows
from sklearn.metrics import silhouette_samples

from subtaxa.clustering.estimators.base import NEGATIVE_PENALTY
from subtaxa.clustering.estimators.silhouette import SilhouetteEstimator, TotalScores
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import CategoryCount, numbers_per_label
from subtaxa.clustering.silhouettes import silhouettes


def estimated(data: Planted) -> int:
    return total(Forest(data.features, data.labels))


def total(forest: Forest) -> int:
    return sum(choice.chosen for choice in numbers_per_label(forest)[1])


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


def test_a_single_label_without_structure_has_one_category() -> None:
    features = unit_rows(np.random.default_rng(0).normal(size=(120, 24)))
    assert total(Forest(features, np.zeros(120, dtype=np.int64))) == 1


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


def test_the_plausible_range_contains_the_number_and_granularity_goes_beyond_it() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.3, dim=16)
    forest = Forest(data.features, data.labels)
    coarse, normal, fine = (numbers_per_label(forest, granularity)[1] for granularity in ("coarse", "normal", "fine"))
    for low, middle, high in zip(coarse, normal, fine, strict=True):
        assert low.chosen <= middle.low <= middle.chosen <= middle.high <= high.chosen
        numbers = [number for number, _ in middle.curve]
        assert numbers == sorted(set(numbers))
        assert {low.chosen, middle.chosen, high.chosen} <= set(numbers)
    assert sum(c.chosen for c in coarse) < sum(c.chosen for c in normal) < sum(c.chosen for c in fine)


def test_the_middle_of_the_plausible_totals_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single lucky total has little effect, and without any leeway the estimate is at the peak."""
    data = blobs([[30] * 8, [30] * 8], spread=0.05)
    tried = TotalScores(Forest(data.features, data.labels), {})
    curve = {total: 0.5 - 0.2 * abs(np.log(total / 100)) for total in range(2, 400)} | {81: 0.53}
    monkeypatch.setattr(tried, "score", curve.__getitem__)
    assert max(curve, key=curve.__getitem__) == 81
    low, middle, high = tried.middle(60, 166, 0.05)
    assert low < 85 < 115 < high
    assert abs(middle - 100) <= 3
    assert tried.middle(300, 300, 0.05) == (300, 300, 300)
    assert all(abs(number - 100) <= 3 for number in tried.middle(60, 166, 0.0))


def test_totals_are_scored_by_the_categories_they_lead_to() -> None:
    """Merging and refining gives silhouettes at least as high as those of the cut trees."""
    data = blobs([[40, 5, 6, 4], [30, 3, 25]], spread=0.12)
    forest = Forest(data.features, data.labels)
    tried = TotalScores(forest, {})
    for total in (4, 7, 10):
        bare = silhouettes(data.features, forest.cut(forest.divide(total)), total, tried.rows).mean()
        assert tried.silhouette(total) >= bare - 1e-6
    assert tried.score(7) == max(tried.score(total) for total in range(2, 14))


def test_negative_silhouettes_lower_the_score() -> None:
    data = blobs([[40, 5, 6, 4], [30, 3, 25]], spread=0.3, dim=8)
    tried = TotalScores(Forest(data.features, data.labels), {})
    for total in (4, 7, 20):
        negative = float((tried.silhouettes[total] < 0).mean()) if tried.silhouette(total) else 0.0
        assert tried.score(total) == pytest.approx(tried.silhouette(total) - NEGATIVE_PENALTY * negative)
    assert tried.score(20) < tried.silhouette(20)


def test_an_earlier_estimate_is_divided_by_the_present_features() -> None:
    """Since the estimate, the first label went from four categories to two, and the second from two to four."""
    before = blobs([[12] * 4, [12] * 2], spread=0.06)
    now = blobs([[24] * 2, [6] * 4], spread=0.06)
    assert (before.labels == now.labels).all()
    earlier = SilhouetteEstimator().estimate(Forest(before.features, before.labels))
    assert earlier.total == 6
    _, found = numbers_per_label(Forest(now.features, now.labels), estimate=earlier)
    assert [choice.chosen for choice in found] == [2, 4]
    for choice in found:
        numbers, scores = zip(*choice.curve, strict=True)
        assert choice.chosen in numbers
        assert min(scores) <= dict(choice.curve)[choice.chosen] <= max(scores)


def test_fixed_numbers_are_kept_and_the_others_are_estimated() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.06)
    forest = Forest(data.features, data.labels)
    _, found = numbers_per_label(forest, fixed={0: 5})
    assert [choice.chosen for choice in found] == [5, 6, 1]
    assert found[0] == CategoryCount(5, 5, 5, ())
    assert [choice.chosen for choice in numbers_per_label(forest, "fine", {0: 5, 1: 2, 2: 4})[1]] == [5, 2, 4]


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


def test_without_a_peak_the_number_is_about_the_root_of_the_number_of_texts() -> None:
    """The texts are random pairs of near copies, so the score keeps rising with the number."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(400, 24)), 2, axis=0) + 0.05 * rng.normal(size=(800, 24))
    forest = Forest(unit_rows(rows), np.repeat([0, 1], 400))
    coarse, normal, fine = (
        sum(c.chosen for c in numbers_per_label(forest, g)[1]) for g in ("coarse", "normal", "fine")
    )
    assert 0.7 * 800**0.5 < normal < 1.5 * 800**0.5
    assert coarse < normal < fine
