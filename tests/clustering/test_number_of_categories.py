"""How many categories: planted numbers are found by clearness, and what is given stays."""

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


def clearest(data: Planted) -> int:
    return total(Forest(data.features, data.labels))


def total(forest: Forest) -> int:
    return sum(choice.chosen for choice in numbers_per_label(forest)[1])


@pytest.mark.parametrize(
    "sizes", [[[12] * 2, [12]], [[12] * 3, [12] * 5], [[15, 30], [10] * 6, [9, 20, 14]], [[8] * 23]]
)
def test_the_clearest_total_finds_the_planted_number(sizes: list[list[int]]) -> None:
    planted = sum(map(len, sizes))
    for seed in range(3):
        assert clearest(blobs(sizes, spread=0.06, seed=seed)) == planted


def test_the_clearest_total_looks_at_every_number_near_the_best_of_a_wide_search() -> None:
    """Ninety-nine numbers are possible: more than the wide search tries."""
    assert clearest(blobs([[11] * 37], spread=0.03, dim=40)) == 37


def test_the_clearest_total_of_a_lone_featureless_label_is_one() -> None:
    features = unit_rows(np.random.default_rng(0).normal(size=(120, 24)))
    assert total(Forest(features, np.zeros(120, dtype=np.int64))) == 1


def test_the_clearest_total_of_labels_of_one_kind_is_their_number() -> None:
    assert clearest(blobs([[40], [25], [30]], spread=0.1)) == 3


@pytest.mark.parametrize("texts", [1, 2, 3, 30])
def test_the_clearest_total_of_one_repeated_text_is_one(texts: int) -> None:
    assert total(Forest(unit_rows(np.ones((texts, 8))), np.zeros(texts, dtype=np.int64))) == 1


@pytest.mark.parametrize("distinct", [2, 4])
def test_the_clearest_total_of_a_few_texts_each_repeated_is_their_number(distinct: int) -> None:
    """Canned messages: 20 copies of each."""
    features = np.repeat(np.eye(8, dtype=np.float32)[:distinct], 20, axis=0)
    assert total(Forest(features, np.zeros(len(features), dtype=np.int64))) == distinct


def test_plausible_numbers_surround_the_chosen_one_and_granularity_goes_beyond_them() -> None:
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
    """One total that is clear by luck does not pull it far, and where nothing else is plausible it is the peak."""
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


def test_totals_are_judged_by_the_categories_they_lead_to() -> None:
    """Polished and merged with the better regard to sizes, they are at least as clear as the bare cut of the trees."""
    data = blobs([[40, 5, 6, 4], [30, 3, 25]], spread=0.12)
    forest = Forest(data.features, data.labels)
    tried = TotalScores(forest, {})
    for total in (4, 7, 10):
        bare = silhouettes(data.features, forest.cut(forest.divide(total)), total, tried.rows).mean()
        assert tried.silhouette(total) >= bare - 1e-6
    assert tried.score(7) == max(tried.score(total) for total in range(2, 14))


def test_misplaced_texts_count_against_a_total() -> None:
    data = blobs([[40, 5, 6, 4], [30, 3, 25]], spread=0.3, dim=8)
    tried = TotalScores(Forest(data.features, data.labels), {})
    for total in (4, 7, 20):
        misplaced = float((tried.silhouettes[total] < 0).mean()) if tried.silhouette(total) else 0.0
        assert tried.score(total) == pytest.approx(tried.silhouette(total) - NEGATIVE_PENALTY * misplaced)
    assert tried.score(20) < tried.silhouette(20)


def test_a_total_judged_earlier_is_shared_out_as_the_texts_are_now() -> None:
    """Two categories of the second label have become four since, and two of the first one."""
    before = blobs([[12] * 4, [12] * 2], spread=0.06)
    now = blobs([[24] * 2, [6] * 4], spread=0.06)
    assert (before.labels == now.labels).all()
    judged = SilhouetteEstimator().estimate(Forest(before.features, before.labels))
    assert judged.total == 6
    _, found = numbers_per_label(Forest(now.features, now.labels), estimate=judged)
    assert [choice.chosen for choice in found] == [2, 4]
    for choice in found:
        numbers, clear = zip(*choice.curve, strict=True)
        assert choice.chosen in numbers
        assert min(clear) <= dict(choice.curve)[choice.chosen] <= max(clear)


def test_fixed_numbers_stay_and_the_others_are_found() -> None:
    data = blobs([[12] * 3, [20] * 6, [15]], spread=0.06)
    forest = Forest(data.features, data.labels)
    _, found = numbers_per_label(forest, fixed={0: 5})
    assert [choice.chosen for choice in found] == [5, 6, 1]
    assert found[0] == CategoryCount(5, 5, 5, ())
    assert [choice.chosen for choice in numbers_per_label(forest, "fine", {0: 5, 1: 2, 2: 4})[1]] == [5, 2, 4]


@pytest.mark.parametrize("seed", range(3))
def test_silhouettes_are_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, assignment = unit_rows(rng.normal(size=(60, 6))), rng.integers(5, size=60)
    assignment[0] = 5  # a category of one text
    rows = np.sort(rng.permutation(60)[:40])
    rows[0] = 0
    expected = silhouette_samples(features.astype(np.float64), assignment, metric="cosine")[rows]
    assert silhouettes(features, assignment, 6, rows) == pytest.approx(expected, abs=1e-5)
    assert silhouettes(features, assignment, 8, rows) == pytest.approx(expected, abs=1e-5)  # two empty ones


def test_silhouettes_of_a_single_category_are_zero() -> None:
    features = unit_rows(np.random.default_rng(0).normal(size=(9, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's would be printed to the user
        assert silhouettes(features, np.zeros(9, dtype=np.int64), 1, np.arange(9)).tolist() == [0.0] * 9


def test_where_no_number_stands_out_there_are_about_as_many_as_texts_in_each() -> None:
    """Pairs of near copies scattered at random: ever finer is ever clearer."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(400, 24)), 2, axis=0) + 0.05 * rng.normal(size=(800, 24))
    forest = Forest(unit_rows(rows), np.repeat([0, 1], 400))
    coarse, normal, fine = (
        sum(c.chosen for c in numbers_per_label(forest, g)[1]) for g in ("coarse", "normal", "fine")
    )
    assert 0.7 * 800**0.5 < normal < 1.5 * 800**0.5
    assert coarse < normal < fine
