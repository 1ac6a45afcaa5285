"""Training texts whose category does not have the nearest centroid are stored; all others are not."""

from __future__ import annotations

import numpy as np
from helpers.planted import blobs, unit_rows

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import CLOSE, KnownTexts
from subtaxa.clustering.rules import cluster

# One centroid along x, of label 0, and one along y, of label 1.
AXES = Clusters(np.eye(2, dtype=np.float32), np.array([0, 1]))


def at(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)


def test_only_texts_with_another_nearest_centroid_are_stored() -> None:
    texts = ["plainly x", "plainly y", "nearer y but labelled x"]
    stored = KnownTexts.of(texts, at(5, 85, 60), np.array([0, 1, 0]), AXES)
    known, categories = stored.lookup([*texts, "never seen"])
    assert known.tolist() == [False, False, True, False]
    assert categories[2] == 0
    assert len(stored.keys) == 1


def test_a_text_on_the_border_is_stored_on_either_side() -> None:
    hair = np.rad2deg(CLOSE / 4)
    stored = KnownTexts.of(["a", "b", "c"], at(45 - hair, 45 + hair, 44), np.array([0, 1, 0]), AXES)
    known, categories = stored.lookup(["a", "b", "c"])
    assert known.tolist() == [True, True, False]
    assert categories[:2].tolist() == [0, 1]


def test_predicting_the_training_texts_gives_their_categories() -> None:
    data = blobs([[30, 30], [30, 30, 30]], spread=0.6, dim=6)
    clusters = cluster(data.features, data.labels, 5)
    assignment = clusters.nearest(data.features, data.labels)
    free = clusters.nearest(data.features)
    texts = [f"text {i}" for i in range(len(data))]
    stored = KnownTexts.of(texts, data.features, assignment, clusters)
    known, category = stored.lookup(texts)
    assert (free != assignment).any()
    assert (np.where(known, category, free) == assignment).all()
    assert known.sum() < len(data) / 2
    assert stored.keys.dtype == np.uint64
    assert (np.diff(stored.keys.astype(object)) > 0).all()


def test_the_arguments_are_not_changed() -> None:
    features, assignment = at(5, 85, 60), np.array([0, 1, 0])
    KnownTexts.of(["a", "b", "c"], features, assignment, AXES)
    assert np.array_equal(features, at(5, 85, 60))
    assert assignment.tolist() == [0, 1, 0]


def test_a_text_that_occurs_several_times_gets_its_most_frequent_category() -> None:
    """The text has label x twice and label z once, and the centroid of y is nearest each time."""
    clusters = Clusters(np.eye(3, dtype=np.float32), np.array([0, 1, 2]))
    features = unit_rows(np.array([[0.5, 0.9, 0.4]] * 3))
    known, category = KnownTexts.of(["same"] * 3, features, np.array([2, 0, 0]), clusters).lookup(["same"])
    assert known.tolist() == [True]
    assert category.tolist() == [0]


def test_copies_that_are_not_ambiguous_vote_too() -> None:
    """Nine copies have label y and are nearest to its centroid; the tenth has label x by mistake."""
    stored = KnownTexts.of(["same"] * 10, at(*[80] * 10), np.array([1] * 9 + [0]), AXES)
    known, category = stored.lookup(["same"])
    nearest = AXES.nearest(at(80))
    assert np.where(known, category, nearest).tolist() == [1]


def test_with_one_category_nothing_is_stored() -> None:
    one = Clusters(np.eye(2, dtype=np.float32)[:1], np.array([0]))
    stored = KnownTexts.of(["a", "b"], at(0, 120), np.array([0, 0]), one)
    assert len(stored.keys) == len(stored.categories) == 0
    known, categories = stored.lookup(["a", "b", "c"])
    assert known.tolist() == [False] * 3
    assert categories.dtype == np.int64


def test_any_string_can_be_stored() -> None:
    texts = ["", "\ud800", "😀", "a\0b", "é", "e\u0301", "x" * 100_000]
    stored = KnownTexts.of(texts, at(*[60] * len(texts)), np.zeros(len(texts), dtype=np.int64), AXES)
    assert stored.lookup(texts)[0].all()
    assert not stored.lookup(["\udfff", "E", " "])[0].any()
    assert stored.lookup([])[0].tolist() == []
