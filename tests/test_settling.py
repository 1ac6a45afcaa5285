"""Settling: the members of found categories, the surest first, and whether categories are even."""

from __future__ import annotations

import numpy as np
import pytest
from planted import blobs

from subtaxa import settling
from subtaxa.clustering import Clusters, cluster
from subtaxa.settling import evenness, members


def test_evenness_by_hand() -> None:
    assert evenness(np.array([5, 5, 5, 5])) == pytest.approx(1.0)
    assert evenness(np.array([9, 0, 0])) == pytest.approx(1 / 3)
    assert evenness(np.array([3, 1])) == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))) / 2)


def test_even_data_is_even_and_a_long_tail_is_not() -> None:
    assert evenness(np.random.default_rng(0).integers(30, 160, 64)) > settling.EVEN
    assert evenness(np.round(120 / np.arange(1, 16) ** 1.2).astype(np.int64)) < settling.EVEN


def test_members_are_those_of_the_category_the_surest_first() -> None:
    data = blobs([[14, 9, 12], [15], [10, 16]], spread=0.1)
    clusters = cluster(data.features, data.labels, 6)
    fellows, sure, sizes = members(data.features, data.labels, clusters)
    assigned = clusters.nearest(data.features, data.labels)
    assert sizes.tolist() == np.bincount(assigned).tolist()
    for i in range(len(data)):
        there = sure[i] > 0
        assert set(fellows[i, there].tolist()) == set(np.flatnonzero(assigned == assigned[i]).tolist())
        assert (np.diff(sure[i, there]) <= 0).all()
        assert not there[int(there.sum()) :].any()
    assert sure.max() == 1.0
    assert (sure[data.labels == 1][:, :15] == 1.0).all()  # a label of one category: nothing to confuse it with


def test_a_text_between_two_categories_is_unsure() -> None:
    centroids = np.eye(3, dtype=np.float32)
    rows = np.array([[1, 0, 0], [0.8, 0.1, 0], [0.71, 0.70, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    labels = np.array([0, 0, 0, 0, 1])
    fellows, sure, _ = members(rows, labels, Clusters(centroids, np.array([0, 0, 1])))
    found = dict(zip(fellows[0].tolist(), sure[0].tolist(), strict=True))
    assert found[0] == 1.0
    assert 0 < found[2] < 0.1


def test_no_more_members_than_memory_is_meant_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "MEMBERS", 4)
    data = blobs([[14, 3], [15]], spread=0.1)
    fellows, sure, _ = members(data.features, data.labels, cluster(data.features, data.labels, 3))
    assert fellows.shape == sure.shape == (32, 4)
    assert sorted((sure > 0).sum(1).tolist()) == [3] * 3 + [4] * 29
