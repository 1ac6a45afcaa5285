"""Categories below each label: planted ones are found, given numbers are kept, impossible numbers are refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.planted import Planted, blobs, same_partition

from subtaxa.clustering import ward_tree
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.kmeans import spherical_kmeans
from subtaxa.clustering.number_of_categories import numbers_per_label
from subtaxa.clustering.rules import cluster, find_categories
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import unit


@pytest.fixture(scope="module")
def odd_labels() -> Planted:
    """Five labels with three blobs, one blob, two blobs, a single text, and one text eight times."""
    data = blobs([[14, 9, 12], [15], [10, 16], [1], [8]], spread=0.05)
    data.features[data.labels == 4] = data.features[data.labels == 4][0]
    return data


def found_in(data: Planted, number: int | None, **options: int) -> tuple[Clusters, np.ndarray]:
    """The categories, and the category of each text. Without a number, the number is estimated."""
    if number is None:
        forest = Forest(data.features, data.labels, **options)
        choices = numbers_per_label(forest)
        clusters = find_categories(forest, [choice.chosen for choice in choices])
    else:
        clusters = cluster(data.features, data.labels, number, **options)
    return clusters, clusters.nearest(data.features, data.labels)


def test_planted_categories_are_found_when_the_number_is_given(odd_labels: Planted) -> None:
    _, assignment = found_in(odd_labels, 8)
    assert same_partition(assignment, odd_labels.truth)


def test_planted_categories_are_found_when_the_number_is_not_given(odd_labels: Planted) -> None:
    clusters, assignment = found_in(odd_labels, None)
    assert len(clusters) == 8
    assert same_partition(assignment, odd_labels.truth)


@pytest.mark.parametrize("number", [5, 6, 7, 8, 9, 15, 40, 77, 78])
def test_the_given_number_is_kept_and_no_category_is_empty(odd_labels: Planted, number: int) -> None:
    """There are 78 distinct texts, and each could be a category of its own."""
    clusters, assignment = found_in(odd_labels, number)
    assert len(clusters) == len(clusters.parents) == number
    assert np.bincount(assignment, minlength=number).min() > 0


@pytest.mark.parametrize("number", [5, 8, 30, None])
def test_every_category_has_one_parent_and_every_label_a_category(odd_labels: Planted, number: int | None) -> None:
    clusters, assignment = found_in(odd_labels, number)
    assert clusters.parents.tolist() == sorted(clusters.parents.tolist())
    assert set(clusters.parents.tolist()) == {0, 1, 2, 3, 4}
    assert (clusters.parents[assignment] == odd_labels.labels).all()
    assert np.linalg.norm(clusters.centroids, axis=1) == pytest.approx(np.ones(len(clusters)), abs=1e-5)
    assert clusters.centroids.dtype == np.float32


@pytest.mark.parametrize("number", [0, 4, 79, 1000, -3])
def test_an_impossible_number_is_refused_with_the_range(odd_labels: Planted, number: int) -> None:
    with pytest.raises(SettingError, match=rf"categories is {number}: with 5 labels .* it must be 5 to 78$"):
        found_in(odd_labels, number)


@pytest.mark.parametrize("number", [8, 12, None])
def test_the_order_of_the_rows_has_no_effect(odd_labels: Planted, number: int | None) -> None:
    _, assignment = found_in(odd_labels, number)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(odd_labels))
        _, permuted = found_in(odd_labels.taken(order), number)
        if number == 12:  # With more categories than planted, only the planted ones are certain.
            assert all(len(set(odd_labels.truth[order][permuted == c])) == 1 for c in range(12))
        else:
            assert same_partition(permuted, assignment[order])


def test_same_seed_same_centroids(odd_labels: Planted) -> None:
    first, second = found_in(odd_labels, 12, seed=5)[0], found_in(odd_labels, 12, seed=5)[0]
    assert np.array_equal(first.centroids, second.centroids)


def test_advance_counts_every_text_twice(odd_labels: Planted) -> None:
    counted: list[int] = []
    cluster(odd_labels.features, odd_labels.labels, 8, advance=counted.append)
    assert sum(counted) == 2 * len(odd_labels)


def test_nearest_stays_within_a_known_label() -> None:
    rng = np.random.default_rng(0)
    clusters = Clusters(unit(rng.normal(size=(9, 6))), np.array([0, 0, 0, 1, 2, 2, 2, 2, 3]))
    features, labels = unit(rng.normal(size=(200, 6))), rng.integers(4, size=200)
    within, free = clusters.nearest(features, labels), clusters.nearest(features)
    assert (clusters.parents[within] == labels).all()
    assert (within != free).any()
    for row, label, category in zip(features, labels, within, strict=True):
        own = np.flatnonzero(clusters.parents == label)
        assert category == own[np.argmax(clusters.centroids[own] @ row)]
    assert (free == (features @ clusters.centroids.T).argmax(1)).all()


def test_nearest_by_hand() -> None:
    """Centroids at 0°, 90° (label 0) and 80° (label 1); a text at 84° is nearest to the third."""
    angle = np.deg2rad([0.0, 90.0, 80.0])
    clusters = Clusters(np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32), np.array([0, 0, 1]))
    text = np.array([[np.cos(np.deg2rad(84.0)), np.sin(np.deg2rad(84.0))]], dtype=np.float32)
    assert clusters.nearest(text).tolist() == [2]
    assert clusters.nearest(text, np.array([0])).tolist() == [1]


def forest_of(*gains: tuple[float, ...]) -> Forest:
    """A forest whose trees have the given gains."""
    forest = Forest.__new__(Forest)
    forest.trees = [SimpleNamespace(n_leaves=len(g) + 1, gains=np.array(g, dtype=float)) for g in gains]  # type: ignore[misc]
    return forest


def labelled(data: Planted, seed: int = 0) -> Forest:
    return Forest(data.features, data.labels, seed)


@pytest.mark.parametrize(
    ("number", "shares"),
    [
        (3, [1, 1, 1]),
        (4, [2, 1, 1]),  # 9
        (5, [2, 2, 1]),  # 9 8
        (6, [2, 3, 1]),  # 9 8 7
        (7, [3, 3, 1]),  # 9 8 7 3
        (8, [3, 4, 1]),  # 9 8 7 3 1
    ],
)
def test_divide_by_hand(number: int, shares: list[int]) -> None:
    assert forest_of((9, 3), (8, 7, 1), ()).divide(number) == shares


@pytest.mark.parametrize("number", [2, 9])
def test_divide_refuses_impossible_numbers(number: int) -> None:
    with pytest.raises(SettingError, match=r"3 labels and 8 distinct texts it must be 3 to 8"):
        forest_of((9, 3), (8, 7, 1), ()).divide(number)


def test_gains_by_hand() -> None:
    """(0,0)–(0,2) merge at 2; their mean (0,1) and (6,1) at √(2·2·1/3)·6: squared 4 and 48."""
    tree = WardTree(np.array([[0, 0], [0, 2], [6, 1]], dtype=np.float32))
    assert tree.gains.tolist() == pytest.approx([48.0, 4.0])
    assert tree.n_leaves == 3
    assert same_partition(tree.cut(2), [0, 0, 1])
    assert same_partition(tree.cut(3), [0, 1, 2])
    assert tree.cut(1).tolist() == [0, 0, 0]


def test_divide_gives_more_categories_to_the_label_that_has_more(odd_labels: Planted) -> None:
    forest = labelled(odd_labels)
    assert forest.divide(8) == [3, 1, 2, 1, 1]
    assert forest.max_categories() == 78


@pytest.fixture
def small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels with more than 60 distinct texts are reduced to 50 micro-clusters."""
    monkeypatch.setattr(ward_tree, "LARGEST_TREE", 60)
    monkeypatch.setattr(ward_tree, "MICRO_CLUSTERS", 50)


FOUR_AGAINST_TWO = [[100] * 4, [30, 30]]


def test_divide_prefers_the_split_that_moves_more_texts() -> None:
    """Splitting the large label reduces the variance more, three times in a row."""
    assert labelled(blobs(FOUR_AGAINST_TWO, spread=0.02)).divide(5) == [4, 1]


@pytest.mark.usefixtures("small_trees")
def test_divide_counts_all_texts_behind_micro_clusters() -> None:
    """In the same data, 50 leaves for 400 texts must not count less than 60 leaves for 60 texts."""
    assert labelled(blobs(FOUR_AGAINST_TWO, spread=0.02)).divide(5) == [4, 1]


def test_divide_counts_every_copy_of_a_repeated_text() -> None:
    """One label has 50 copies each of two messages, 90° apart. The other has two single messages, also 90° apart."""
    features = np.repeat(np.eye(4, dtype=np.float32), [50, 50, 1, 1], axis=0)
    large_first = np.repeat([0, 1], [100, 2])
    assert Forest(features, large_first).divide(3) == [2, 1]
    assert Forest(features, 1 - large_first).divide(3) == [1, 2]


@pytest.mark.parametrize("sizes", [[1, 1], [2, 1, 1], [3, 2]])
def test_the_smallest_inputs_have_a_category_for_each_label(sizes: list[int]) -> None:
    data = blobs([[size] for size in sizes], dim=8)
    clusters, assignment = found_in(data, None)
    assert clusters.parents.tolist() == list(range(len(sizes)))
    assert (assignment == data.labels).all()


def test_cut_divides_into_exactly_k(odd_labels: Planted) -> None:
    tree = WardTree(odd_labels.features[odd_labels.labels == 0])
    for k in (1, 2, 3, 7, 20):
        assert np.unique(tree.cut(k)).tolist() == list(range(k))


@pytest.mark.parametrize("copies", [1, 3])
def test_equally_distant_texts_are_divided_into_the_given_number(copies: int) -> None:
    """All merges of orthogonal texts tie, so cutting the tree by height would give fewer categories."""
    features = np.repeat(np.eye(8, dtype=np.float32)[:6], copies, axis=0)
    labels = np.zeros(len(features), dtype=np.int64)
    for k in range(1, 7):
        clusters = cluster(features, labels, k)
        assert len(np.unique(clusters.nearest(features, labels))) == k


@pytest.mark.parametrize("start", [[0, 0, 0], [0, 1, 1], [2, 2, 0]])
def test_an_empty_category_restarts_at_the_text_with_the_worst_fit(start: list[int]) -> None:
    """There are three blobs, but k-means starts from equal centroids, and only one of them gets texts."""
    data = blobs([[10, 12, 14]])
    centres = np.stack([data.features[data.truth == blob].mean(0) for blob in start])
    found = Clusters(spherical_kmeans(data.features, unit(centres)), np.zeros(3, dtype=np.int64)).nearest(data.features)
    assert np.unique(found).tolist() == [0, 1, 2]
    if start != [0, 0, 0]:  # Two restarts at once may end up in the same blob.
        assert same_partition(found, data.truth)


@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("number", [4, 6, 30, None])
def test_a_giant_label_is_reduced_to_micro_clusters(number: int | None) -> None:
    data = blobs([[90, 70, 80], [20]], spread=0.05)
    assert labelled(data).max_categories() == 50 + 20
    clusters, assignment = found_in(data, number)
    if number is None:
        assert len(clusters) == 4
    else:
        assert len(np.unique(assignment)) == len(clusters) == number
    if number in (4, None):
        assert same_partition(assignment, data.truth)
