"""Texts that fit nowhere are marked, the others are not."""

from __future__ import annotations

import numpy as np
from helpers.planted import blobs, unit_rows

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.outliers import _medians, is_outlier, outlier_threshold
from subtaxa.clustering.rules import cluster


def test_strangers_are_marked_and_members_are_not() -> None:
    data = blobs([[60, 60], [80]], spread=0.1, dim=16)
    strangers = unit_rows(np.random.default_rng(1).normal(size=(5, 16)))
    clusters = cluster(data.features, data.labels, 3)
    place = clusters.nearest(data.features, data.labels)
    lowest = outlier_threshold(data.features, place, clusters)
    assert is_outlier(data.features, place, clusters, lowest).mean() < 0.02
    assert is_outlier(strangers, clusters.nearest(strangers), clusters, lowest).all()


def test_a_small_category_is_judged_by_the_spread_of_the_others() -> None:
    """Three texts that are all alike would otherwise shut out everything else."""
    data = blobs([[80, 80, 3]], spread=0.1, dim=16)
    data.features[data.truth == 2] = data.features[data.truth == 2][0]
    clusters = cluster(data.features, data.labels, 3)
    place = clusters.nearest(data.features)
    lowest = outlier_threshold(data.features, place, clusters)
    small = int(place[data.truth == 2][0])
    assert lowest[small] < 0.99


def test_medians_are_numpys() -> None:
    rng = np.random.default_rng(0)
    values, group = rng.normal(size=50), rng.integers(4, size=50)
    expected = [np.median(values[group == g]) for g in range(4)]
    assert np.allclose(_medians(values, group, 5), [*expected, 0.0])


def test_no_texts_no_harm() -> None:
    clusters = Clusters(np.eye(3, dtype=np.float32), np.array([0, 0, 1]))
    nobody = np.empty((0, 3), dtype=np.float32), np.empty(0, dtype=np.int64)
    assert is_outlier(*nobody, clusters, outlier_threshold(*nobody, clusters)).tolist() == []
