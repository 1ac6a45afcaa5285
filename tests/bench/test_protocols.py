"""The four protocols."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, same_partition, unit_rows
from sklearn.cluster import KMeans

from subtaxa.bench import protocols
from subtaxa.bench.protocols import kmeans, nearest_mean, score_features
from subtaxa.bench.scoring import Score

NAMES = np.array(["refund", "charge", "parcel", "letter", "password"])


def test_nearest_mean_compares_directions() -> None:
    old = unit_rows(np.array([[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]))
    new = unit_rows(np.array([[3.0, 1.0], [1.0, 3.0], [5.0, 4.9]]))
    assert nearest_mean(old, np.array([0, 0, 1, 1]), new).tolist() == [0, 1, 0]
    assert nearest_mean(old, np.array([1, 1, 0, 0]), new).tolist() == [1, 0, 1]


def test_nearest_mean_against_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    old, new = unit_rows(rng.normal(size=(60, 5))), unit_rows(rng.normal(size=(20, 5)))
    assignment = rng.integers(0, 6, 60)
    expected = []
    for row in new:
        similarity = []
        for category in range(6):
            mean = old[assignment == category].mean(0)
            similarity.append(float(row @ mean / np.linalg.norm(mean)))
        expected.append(int(np.argmax(similarity)))
    assert nearest_mean(old, assignment, new).tolist() == expected


def test_an_empty_category_is_never_the_nearest() -> None:
    """k-means leaves categories empty when there are fewer distinct texts than categories."""
    old = unit_rows(np.array([[1.0, 0.0], [0.9, 0.1]]))
    against = unit_rows(np.array([[-1.0, 0.0]]))  # Every mean points the other way.
    assert nearest_mean(old, np.array([2, 5]), against).tolist() == [5]


def scored(train: Planted, test: Planted, number: int = 5) -> dict[str, Score]:
    return score_features(train.features, train.labels, test.features, NAMES[test.truth].tolist(), number, 0)


def test_separable_blobs_score_100_by_every_protocol() -> None:
    train = blobs([[30, 20], [25, 10, 15]])
    test = blobs([[6, 9], [5, 7, 4]], seed=0)  # the same centres
    scores = scored(train, test)
    assert list(scores) == ["paper", "best-inertia", "centroid", "discover"]
    for found in scores.values():
        assert (found.acc, found.ari, found.nmi) == pytest.approx((100, 100, 100))


@pytest.mark.parametrize("unlucky", ["_random_starts", "_start_from_tree"])
def test_best_inertia_takes_the_better_of_both_starts(monkeypatch: pytest.MonkeyPatch, unlucky: str) -> None:
    test = blobs([[6, 9], [5, 7, 4]], seed=0)
    worse = KMeans(5, init=test.features[:5], n_init=1, max_iter=1).fit(test.features)
    assert worse.inertia_ > 1
    monkeypatch.setattr(protocols, unlucky, lambda *_: worse)
    scores = scored(test, test)
    assert scores["best-inertia"].acc == pytest.approx(100)
    assert (scores["paper"].acc < 100) == (unlucky == "_random_starts")


def test_paper_does_not_depend_on_the_training_texts() -> None:
    train, test = blobs([[30, 20], [25, 10, 15]], seed=1), blobs([[6, 9], [5, 7, 4]], seed=0)  # other centres
    scores = scored(train, test)
    assert scores["paper"].acc == pytest.approx(100)
    assert scores["centroid"].acc < 100
    assert scores["discover"].acc < 100


def close_and_wide(n: int, seed: int) -> Planted:
    """Three categories: two close ones of n texts each with different labels, and a wide, distant one of 2n texts."""
    centres = np.array([[1.0, 0.15, 0.0, 0.0], [1.0, -0.15, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    spread = np.array([[0.0, 0.03, 0.0, 0.0], [0.0, 0.03, 0.0, 0.0], [0.0, 0.0, 0.0, 0.8]])
    truth = np.repeat(np.arange(3), [n, n, 2 * n])
    noise = np.random.default_rng(seed).normal(size=(4 * n, 4))
    return Planted(unit_rows(centres[truth] + noise * spread[truth]), np.array([0, 1, 0])[truth], truth)


def test_discover_separates_what_the_coarse_labels_separate() -> None:
    """Over all texts, k-means splits the wide category before it separates the two close ones.

    Each label holds only one of the close ones, so `discover` separates them. With a single label it does not.
    """
    train, test = close_and_wide(40, 0), close_and_wide(15, 1)
    scores = scored(train, test, 3)
    assert scores["discover"].acc == pytest.approx(100)
    assert scores["centroid"].acc < 80
    other = scored(Planted(train.features, np.zeros(len(train), dtype=np.int64), train.truth), test, 3)
    assert (other["paper"], other["centroid"]) == (scores["paper"], scores["centroid"])
    assert other["discover"].acc < 80


@pytest.mark.parametrize("number", [1, 4])  # Fewer than labels, more than texts.
def test_no_score_by_discover_for_numbers_that_it_refuses(number: int) -> None:
    assert list(scored(blobs([[1, 1], [1]]), blobs([[6, 9], [5]]), number)) == ["paper", "best-inertia", "centroid"]


def test_kmeans_finds_blobs_the_same_each_time_and_survives_too_few_texts() -> None:
    data = blobs([[30, 20], [25, 10, 15]])
    found = kmeans(data.features, 5, 3, 4)
    assert same_partition(found, data.truth)
    assert found.tolist() == kmeans(data.features, 5, 3, 4).tolist()
    assert sorted(kmeans(data.features[:3], 5, 0, 1)) == [0, 1, 2]
