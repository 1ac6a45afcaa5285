"""Categories of equal size: balanced k-means."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, same_partition, unit_rows

from subtaxa.clustering.balanced_kmeans import balanced_kmeans
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules.balanced import BalancedRule
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
    found = BalancedRule().fit(forest, [5, 4]).nearest(data.features, data.labels)
    assert same_partition(found, data.truth)


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_rounding_has_no_effect_if_two_centroids_converge(seed: int) -> None:
    """The last two categories of each label are narrower than the temperature, so their centroids collapse."""
    data = halves([[40] * 5, [40] * 4], seed=seed)
    noise = np.random.default_rng(seed).normal(size=data.features.shape)
    for rows in (data.features, unit_rows(data.features + 1e-6 * noise)):
        found = BalancedRule().fit(Forest(rows, data.labels), [5, 4])
        assert same_partition(found.nearest(rows, data.labels), data.truth)
        similarity = np.where(data.labels[:, None] == found.parents, rows @ found.centroids.T, -1.0)
        best = np.sort(similarity, axis=1)[:, -2:]
        assert (best[:, 1] - best[:, 0]).min() > 1e-3


def test_the_first_of_scores_that_differ_only_by_rounding_is_best() -> None:
    assert first_best([0.1, 0.5, 0.5 + 1e-12, 0.4]) == 1
    assert first_best([0.1, 0.5, 0.6]) == 2
