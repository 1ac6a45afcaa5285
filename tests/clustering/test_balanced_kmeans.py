"""Categories of equal size: balanced k-means, when it is used, and how it points to the number of categories."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, same_partition, unit_rows

from subtaxa.clustering.balanced_kmeans import balanced_kmeans
from subtaxa.clustering.estimators.silhouette import SilhouetteEstimator, TotalScores
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import numbers_per_label
from subtaxa.clustering.rules import AutoRule, balance, cluster, find_categories
from subtaxa.clustering.rules.balanced import balance_cost
from subtaxa.clustering.rules.merged import best_merged
from subtaxa.clustering.silhouettes import first_best


def halves(sizes: list[list[int]], *, apart: float = 0.35, close: float = 0.3, seed: int = 0) -> Planted:
    """Blobs. The first one of each label has two clear halves, and the last two are hard to tell apart."""
    plain = blobs(sizes, spread=0.0, dim=40, seed=seed)
    rng, rows = np.random.default_rng(seed), plain.features.astype(np.float64)
    extra = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    for label in range(len(sizes)):
        kinds = np.unique(plain.truth[plain.labels == label])
        first, last, before = (np.flatnonzero(plain.truth == kind) for kind in (kinds[0], kinds[-1], kinds[-2]))
        rows[first] += apart * np.where(np.arange(len(first)) % 2, 1, -1)[:, None] * extra[label]
        rows[last] = rows[before[0]] + close * extra[-1 - label]
    return Planted(unit_rows(rows + 0.05 * rng.normal(size=rows.shape)), plain.labels, plain.truth)


def test_the_only_centroid_is_the_mean() -> None:
    rows = blobs([[7, 5]]).features
    centroids, parts = balanced_kmeans(rows, rows[:1])
    np.testing.assert_allclose(centroids[0], rows.sum(0) / np.linalg.norm(rows.sum(0)), atol=1e-5)
    assert not parts.any()


def test_every_centroid_gets_the_same_number_of_texts() -> None:
    rows = blobs([[30, 10]], spread=0.2).features
    _, parts = balanced_kmeans(rows, rows[[0, 35]])
    assert abs(np.bincount(parts)[0] - 20) <= 2
    free = (rows @ rows[[0, 35]].T).argmax(1)
    assert np.bincount(free)[0] > 25  # Without balancing, the sizes differ.


def test_balancing_neither_splits_nor_joins_categories_of_equal_size() -> None:
    data = halves([[40] * 5, [40] * 4])
    forest = Forest(data.features, data.labels)
    free = best_merged(forest, [5, 4], forest.sample())[0].nearest(data.features, data.labels)
    assert not same_partition(free, data.truth)
    found = cluster(data.features, data.labels, 9).nearest(data.features, data.labels)
    assert same_partition(found, data.truth)


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_rounding_has_no_effect_if_two_centroids_converge(seed: int) -> None:
    """The last two categories of each label are narrower than the temperature, so their centroids collapse."""
    data = halves([[40] * 5, [40] * 4], seed=seed)
    noise = np.random.default_rng(seed).normal(size=data.features.shape)
    for rows in (data.features, unit_rows(data.features + 1e-6 * noise)):
        found = cluster(rows, data.labels, 9)
        assert same_partition(found.nearest(rows, data.labels), data.truth)
        similarity = np.where(data.labels[:, None] == found.parents, rows @ found.centroids.T, -1.0)
        best = np.sort(similarity, axis=1)[:, -2:]
        assert (best[:, 1] - best[:, 0]).min() > 1e-3


def test_the_first_of_scores_that_differ_only_by_rounding_is_best() -> None:
    assert first_best([0.1, 0.5, 0.5 + 1e-12, 0.4]) == 1
    assert first_best([0.1, 0.5, 0.6]) == 2


def test_categories_of_equal_size_are_counted() -> None:
    data = halves([[40] * 5, [40] * 4, [40] * 6])
    forest, choices = numbers_per_label(Forest(data.features, data.labels))
    assert forest.balanced
    assert [choice.chosen for choice in choices] == [5, 4, 6]
    assert all(choice.balanced for choice in choices)


def test_the_fewest_negative_silhouettes_decide_if_a_wrong_number_can_be_balanced_too() -> None:
    data = blobs([[30] * 6, [30] * 5, [30] * 5], spread=0.14, dim=40, seed=2)
    forest = Forest(data.features, data.labels)
    assert balance_cost(forest, 17).silhouette_kept > balance_cost(forest, 16).silhouette_kept
    assert balance_cost(forest, 17).negative_share > balance_cost(forest, 16).negative_share
    assert TotalScores(forest, {}).balanced(10, 20) == (16, 16, 16)


@pytest.mark.parametrize("sizes", [[[80, 10, 5, 20], [60, 8, 30]], [[120, 52, 32, 23, 17, 14, 12, 10, 9, 8]]])
def test_unbalanced_categories_are_not_balanced(sizes: list[list[int]]) -> None:
    data = blobs(sizes, spread=0.08)
    forest, number = Forest(data.features, data.labels), sum(map(len, sizes))
    assert balance(forest, number, AutoRule()) is forest
    found = find_categories(forest, [len(own) for own in sizes]).nearest(data.features, data.labels)
    assert same_partition(found, data.truth)


def test_balancing_costs_little_only_at_the_true_number() -> None:
    data = blobs([[20] * 3, [20] * 4], spread=0.08)
    at_truth, beyond = (balance_cost(Forest(data.features, data.labels), total) for total in (7, 9))
    assert at_truth.silhouette_kept == pytest.approx(1.0, abs=2e-3)
    assert beyond.silhouette_kept < 0.9
    assert at_truth.negative_share == 0.0 < beyond.negative_share


@pytest.mark.parametrize(("number", "shares"), [(2, [1, 1]), (4, [3, 1]), (5, [4, 1]), (8, [6, 2])])
def test_balanced_categories_are_divided_in_proportion_to_the_texts(number: int, shares: list[int]) -> None:
    data = blobs([[15, 15], [10]])
    assert Forest(data.features, data.labels).as_balanced().divide(number) == shares


def test_a_fixed_number_of_a_label_is_kept() -> None:
    data = halves([[40] * 5, [40] * 4, [40] * 6])
    _, choices = numbers_per_label(Forest(data.features, data.labels), fixed={1: 2})
    assert choices[1].chosen == 2


def test_the_plausible_range_contains_the_estimate() -> None:
    data = halves([[40] * 5, [40] * 4, [40] * 6])
    coarse, low, total, high, fine = SilhouetteEstimator().estimate(Forest(data.features, data.labels)).totals.tolist()
    assert coarse < low <= total == 15 <= high < fine


def test_texts_without_structure_are_not_balanced() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(300, 20)))
    forest = Forest(rows, np.repeat([0, 1, 2], 100))
    assert balance(forest, 15, AutoRule()) is forest
    assert balance_cost(forest, 15).silhouette_kept == 0.0
