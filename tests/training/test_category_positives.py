"""Category positives: the members of a text's category, the most confident first."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import blobs

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.rules import cluster
from subtaxa.training import category_positives
from subtaxa.training.category_positives import members


def test_members_are_those_of_the_category_the_most_confident_first() -> None:
    data = blobs([[14, 9, 12], [15], [10, 16]], spread=0.1)
    clusters = cluster(data.features, data.labels, 6)
    fellows, confidence = members(data.features, data.labels, clusters)
    assigned = clusters.nearest(data.features, data.labels)
    for i in range(len(data)):
        there = confidence[i] > 0
        assert set(fellows[i, there].tolist()) == set(np.flatnonzero(assigned == assigned[i]).tolist())
        assert (np.diff(confidence[i, there]) <= 0).all()
        assert not there[int(there.sum()) :].any()
    assert confidence.max() == 1.0
    assert (confidence[data.labels == 1][:, :15] == 1.0).all()  # A label with a single category.


def test_a_text_between_two_categories_has_low_confidence() -> None:
    centroids = np.eye(3, dtype=np.float32)
    rows = np.array([[1, 0, 0], [0.8, 0.1, 0], [0.71, 0.70, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    labels = np.array([0, 0, 0, 0, 1])
    fellows, confidence = members(rows, labels, Clusters(centroids, np.array([0, 0, 1])))
    found = dict(zip(fellows[0].tolist(), confidence[0].tolist(), strict=True))
    assert found[0] == 1.0
    assert 0 < found[2] < 0.1


def test_no_more_members_than_memory_is_meant_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_positives, "MEMBERS", 4)
    data = blobs([[14, 3], [15]], spread=0.1)
    fellows, confidence = members(data.features, data.labels, cluster(data.features, data.labels, 3))
    assert fellows.shape == confidence.shape == (32, 4)
    assert sorted((confidence > 0).sum(1).tolist()) == [3] * 3 + [4] * 29
