"""Outliers are marked, and other texts are not."""

from __future__ import annotations

import numpy as np
from helpers.planted import blobs, unit_rows

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.outliers import _medians, is_outlier, outlier_threshold
from subtaxa.clustering.rules import cluster


def test_random_texts_are_outliers_and_members_are_not() -> None:
    data = blobs([[60, 60], [80]], spread=0.1, dim=16)
    random_texts = unit_rows(np.random.default_rng(1).normal(size=(5, 16)))
    clusters = cluster(data.features, data.labels, 3)
    assignment = clusters.nearest(data.features, data.labels)
    threshold = outlier_threshold(data.features, assignment, clusters)
    assert is_outlier(data.features, assignment, clusters, threshold).mean() < 0.02
    assert is_outlier(random_texts, clusters.nearest(random_texts), clusters, threshold).all()


def test_a_small_category_borrows_the_spread_of_the_others() -> None:
    """Otherwise three identical texts would make every other text an outlier."""
    data = blobs([[80, 80, 3]], spread=0.1, dim=16)
    data.features[data.truth == 2] = data.features[data.truth == 2][0]
    clusters = cluster(data.features, data.labels, 3)
    assignment = clusters.nearest(data.features)
    threshold = outlier_threshold(data.features, assignment, clusters)
    small = int(assignment[data.truth == 2][0])
    assert threshold[small] < 0.99


def test_medians_equal_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    values, group = rng.normal(size=50), rng.integers(4, size=50)
    expected = [np.median(values[group == g]) for g in range(4)]
    assert np.allclose(_medians(values, group, 5), [*expected, 0.0])


def test_no_texts_have_no_outliers() -> None:
    clusters = Clusters(np.eye(3, dtype=np.float32), np.array([0, 0, 1]))
    nobody = np.empty((0, 3), dtype=np.float32), np.empty(0, dtype=np.int64)
    assert is_outlier(*nobody, clusters, outlier_threshold(*nobody, clusters)).tolist() == []
