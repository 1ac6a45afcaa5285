"""Merging small clusters: power 1 is Ward's linkage, and lower powers keep large categories whole."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import same_partition
from scipy.cluster import hierarchy

from subtaxa.clustering.forest import Forest
from subtaxa.clustering.merging import POWERS, linkage, merge
from subtaxa.clustering.rules import MergedRule, cluster
from subtaxa.runtime.arrays import unit


def points(n: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5))


def slow_merge(means: np.ndarray, sizes: np.ndarray, number: int, power: float) -> np.ndarray:
    """The cheapest merge each time, with all means, sizes and costs recomputed."""
    groups = [([i], mean, int(size)) for i, (mean, size) in enumerate(zip(means, sizes, strict=True))]
    while len(groups) > number:
        pairs = [
            ((n * m / (n + m)) ** power * float(((a - b) ** 2).sum()), i, j)
            for i, (_, a, n) in enumerate(groups)
            for j, (_, b, m) in enumerate(groups)
            if i < j
        ]
        _, i, j = min(pairs)
        (x, a, n), (y, b, m) = groups[i], groups[j]
        groups = [g for at, g in enumerate(groups) if at not in (i, j)]
        groups.append((x + y, (n * a + m * b) / (n + m), n + m))
    found = np.empty(len(means), dtype=np.int64)
    for number, (members, _, _) in enumerate(groups):
        found[members] = number
    return found


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("seed", range(3))
def test_merges_equal_a_slow_computation(seed: int, power: float) -> None:
    sizes = np.random.default_rng(seed).integers(1, 50, 12)
    for number in range(1, 13):
        found = merge(points(seed=seed), sizes, number, power)
        assert same_partition(found, slow_merge(points(seed=seed), sizes, number, power))
        assert sorted(set(found.tolist())) == list(range(number))


def test_power_one_is_wards_linkage() -> None:
    for number in range(1, 13):
        ward = hierarchy.fcluster(hierarchy.linkage(points(), "ward"), number, "maxclust")
        assert same_partition(merge(points(), np.ones(12, dtype=np.int64), number, 1.0), ward)


@pytest.mark.parametrize("seed", range(5))
def test_the_merges_with_power_one_are_those_of_scipy(seed: int) -> None:
    rows = points(40, seed)
    expected = hierarchy.linkage(rows, "ward")[:, :2].astype(np.int64)
    found = linkage(rows, np.ones(40, dtype=np.int64), 1.0)
    assert np.sort(found, axis=1).tolist() == np.sort(expected, axis=1).tolist()


@pytest.mark.parametrize("power", POWERS)
def test_fewer_merges_are_the_first_of_all_merges(power: float) -> None:
    sizes = np.random.default_rng(1).integers(1, 50, 12)
    every = linkage(points(), sizes, power)
    assert every.shape == (11, 2)
    for number in range(1, 13):
        assert linkage(points(), sizes, power, number).tolist() == every[: 12 - number].tolist()


def test_a_single_cluster_stays() -> None:
    assert merge(np.ones((1, 3)), np.array([7]), 1, 0.5).tolist() == [0]


def test_a_wide_large_category_stays_whole_beside_small_ones() -> None:
    """Ward's linkage splits the large category and joins the two small ones; merging does not."""
    rng = np.random.default_rng(0)
    axes = np.eye(16)
    small = [axes[0] + side * 0.35 * axes[1] + rng.normal(scale=0.01, size=(5, 16)) for side in (-1, 1)]
    large = axes[8] + rng.normal(size=(300, 16)) * np.where(np.arange(16) == 9, 0.1, 0.02)
    features = unit(np.concatenate([*small, large]))
    labels, truth = np.zeros(310, dtype=np.int64), np.repeat([0, 1, 2], [5, 5, 300])
    forest = Forest(features, labels)
    assert not same_partition(forest.cut(forest.divide(3)), truth)
    assert same_partition(cluster(features, labels, 3, rule=MergedRule()).nearest(features, labels), truth)
