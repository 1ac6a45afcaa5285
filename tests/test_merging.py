"""Merges of small clusters: even ones as by Ward, uneven ones with the large kept whole."""

from __future__ import annotations

import numpy as np
import pytest
from planted import same_partition
from scipy.cluster.hierarchy import linkage

from subtaxa import merging
from subtaxa.clustering import Forest, cluster, unit
from subtaxa.merging import merge_order, merge_to


def points(n: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5))


def slow_prices(means: np.ndarray, sizes: np.ndarray) -> list[float]:
    """The cheapest merge each time, means and sizes counted anew."""
    groups = [([i], mean, int(size)) for i, (mean, size) in enumerate(zip(means, sizes, strict=True))]
    prices: list[float] = []
    while len(groups) > 1:
        pairs = [
            ((n * m / (n + m)) ** merging.POWER * float(((a - b) ** 2).sum()), i, j)
            for i, (_, a, n) in enumerate(groups)
            for j, (_, b, m) in enumerate(groups)
            if i < j
        ]
        price, i, j = min(pairs)
        (x, a, n), (y, b, m) = groups[i], groups[j]
        groups = [g for at, g in enumerate(groups) if at not in (i, j)]
        groups.append((x + y, (n * a + m * b) / (n + m), n + m))
        prices.append(max(price, prices[-1] if prices else 0.0))
    return prices


@pytest.mark.parametrize("seed", range(4))
def test_prices_are_those_of_a_slow_reckoning_and_never_fall(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 50, 12)
    prices = [price for price, _, _ in merge_order(points(seed=seed), sizes)]
    assert prices == pytest.approx(slow_prices(points(seed=seed), sizes))
    assert prices == sorted(prices)


def test_power_one_is_wards_linkage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "POWER", 1.0)
    prices = [price for price, _, _ in merge_order(points(), np.ones(12, dtype=np.int64))]
    assert prices == pytest.approx(linkage(points(), "ward")[:, 2] ** 2 / 2)


def test_labels_share_the_cheapest_merges() -> None:
    near, far = np.array([[0.0], [0.1], [0.2]]), np.array([[0.0], [50.0], [99.0]])
    ones = np.ones(3, dtype=np.int64)
    orders = [merge_order(near, ones), merge_order(far, ones)]
    assert [part.tolist() for part in merge_to(4, orders, [3, 3])] == [[0, 0, 0], [0, 1, 2]]
    assert [len(set(part.tolist())) for part in merge_to(6, orders, [3, 3])] == [3, 3]
    assert [len(set(part.tolist())) for part in merge_to(2, orders, [3, 3])] == [1, 1]


def test_a_single_cluster_has_nothing_to_merge() -> None:
    assert merge_order(np.ones((1, 3)), np.array([7])) == []
    assert [part.tolist() for part in merge_to(1, [[]], [1])] == [[0]]


def test_a_wide_large_category_stays_whole_beside_small_ones() -> None:
    """Ward cuts the large one and lumps two small ones together; the merges do not."""
    rng = np.random.default_rng(0)
    axes = np.eye(16)
    small = [axes[0] + side * 0.35 * axes[1] + rng.normal(scale=0.01, size=(5, 16)) for side in (-1, 1)]
    large = axes[8] + rng.normal(size=(300, 16)) * np.where(np.arange(16) == 9, 0.1, 0.02)
    features = unit(np.concatenate([*small, large]))
    labels, truth = np.zeros(310, dtype=np.int64), np.repeat([0, 1, 2], [5, 5, 300])
    forest = Forest(features, labels)
    assert not same_partition(forest.cut(forest.share_out(3)), truth)
    assert same_partition(cluster(features, labels, 3).nearest(features, labels), truth)
