"""Categories of different labels that are alike."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from subtaxa.app.across import alike_across_labels


def alike(centroids: list[list[float]], parents: list[int]) -> list[list[float]]:
    unit = np.array(centroids) / np.linalg.norm(centroids, axis=1, keepdims=True)
    clusters = SimpleNamespace(centroids=unit, parents=np.array(parents))
    state = SimpleNamespace(clusters=clusters, category_ids=np.arange(10, 10 + len(parents)))
    return alike_across_labels(state)  # type: ignore[arg-type]


def test_the_same_thing_below_two_labels_is_found_once() -> None:
    found = alike([[1, 0, 0], [0, 1, 0], [1, 0.1, 0], [0, 0, 1]], [0, 0, 1, 1])
    assert [pair[:2] for pair in found] == [[10, 12]]
    assert found[0][2] > 0.99


def test_closer_siblings_are_no_finding() -> None:
    assert alike([[1, 0, 0], [1, 0.1, 0], [0.5, 1, 0], [0.4, 1, 0]], [0, 0, 1, 1]) == []


def test_what_is_hardly_similar_is_no_finding() -> None:
    assert alike([[1, 0], [0, 1]], [0, 1]) == []
    assert alike([[1, 0], [1, 0.2]], [0, 1])[0][:2] == [10, 11]


def test_one_label_has_nothing_to_compare() -> None:
    assert alike([[1, 0], [0, 1]], [0, 0]) == []
