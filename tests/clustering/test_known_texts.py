"""Texts filed by their label and not by the nearest centroid alone are remembered; all others are not."""

from __future__ import annotations

import numpy as np
from helpers.planted import blobs, unit_rows

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import CLOSE, KnownTexts
from subtaxa.clustering.rules import cluster

# Centroids along x (label 0), along y (label 1).
AXES = Clusters(np.eye(2, dtype=np.float32), np.array([0, 1]))


def at(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)


def test_only_texts_whose_nearest_centroid_is_another_are_remembered() -> None:
    texts = ["plainly x", "plainly y", "nearer y but labelled x"]
    memory = KnownTexts.of(texts, at(5, 85, 60), np.array([0, 1, 0]), AXES)
    known, categories = memory.lookup([*texts, "never seen"])
    assert known.tolist() == [False, False, True, False]
    assert categories[2] == 0
    assert len(memory.keys) == 1


def test_a_text_on_the_border_is_remembered_on_either_side() -> None:
    hair = np.rad2deg(CLOSE / 4)
    memory = KnownTexts.of(["a", "b", "c"], at(45 - hair, 45 + hair, 44), np.array([0, 1, 0]), AXES)
    known, categories = memory.lookup(["a", "b", "c"])
    assert known.tolist() == [True, True, False]
    assert categories[:2].tolist() == [0, 1]


def test_predicting_the_training_texts_gives_what_training_gave() -> None:
    data = blobs([[30, 30], [30, 30, 30]], spread=0.6, dim=6)
    clusters = cluster(data.features, data.labels, 5)
    assignment = clusters.nearest(data.features, data.labels)
    free = clusters.nearest(data.features)
    texts = [f"text {i}" for i in range(len(data))]
    memory = KnownTexts.of(texts, data.features, assignment, clusters)
    known, category = memory.lookup(texts)
    assert (free != assignment).any()
    assert (np.where(known, category, free) == assignment).all()
    assert known.sum() < len(data) / 2
    assert memory.keys.dtype == np.uint64
    assert (np.diff(memory.keys.astype(object)) > 0).all()


def test_the_features_and_assignment_given_stay_as_they_were() -> None:
    features, assignment = at(5, 85, 60), np.array([0, 1, 0])
    KnownTexts.of(["a", "b", "c"], features, assignment, AXES)
    assert np.array_equal(features, at(5, 85, 60))
    assert assignment.tolist() == [0, 1, 0]


def test_a_text_that_occurs_several_times_gets_its_most_frequent_category() -> None:
    """Labelled x twice and z once, nearest to y each time."""
    clusters = Clusters(np.eye(3, dtype=np.float32), np.array([0, 1, 2]))
    features = unit_rows(np.array([[0.5, 0.9, 0.4]] * 3))
    known, category = KnownTexts.of(["same"] * 3, features, np.array([2, 0, 0]), clusters).lookup(["same"])
    assert known.tolist() == [True]
    assert category.tolist() == [0]


def test_one_stray_label_does_not_outvote_the_copies_that_need_no_memory() -> None:
    """Nine copies lie in y by their label and by their place; the tenth was labelled x by mistake."""
    memory = KnownTexts.of(["same"] * 10, at(*[80] * 10), np.array([1] * 9 + [0]), AXES)
    known, category = memory.lookup(["same"])
    nearest = AXES.nearest(at(80))
    assert np.where(known, category, nearest).tolist() == [1]


def test_one_category_leaves_nothing_to_remember() -> None:
    one = Clusters(np.eye(2, dtype=np.float32)[:1], np.array([0]))
    memory = KnownTexts.of(["a", "b"], at(0, 120), np.array([0, 0]), one)
    assert len(memory.keys) == len(memory.categories) == 0
    known, categories = memory.lookup(["a", "b", "c"])
    assert known.tolist() == [False] * 3
    assert categories.dtype == np.int64


def test_any_string_can_be_remembered() -> None:
    texts = ["", "\ud800", "😀", "a\0b", "é", "e\u0301", "x" * 100_000]
    memory = KnownTexts.of(texts, at(*[60] * len(texts)), np.zeros(len(texts), dtype=np.int64), AXES)
    assert memory.lookup(texts)[0].all()
    assert not memory.lookup(["\udfff", "E", " "])[0].any()
    assert memory.lookup([])[0].tolist() == []
