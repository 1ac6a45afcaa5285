"""Probabilities, confidence and stability: they are valid, and lower where categories overlap."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, unit_rows

from subtaxa.clustering.calibration import (
    UNCALIBRATED,
    Calibration,
    ConfidenceFit,
    calibrate,
    confidence_of,
    probabilities,
)
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.rules import cluster
from subtaxa.runtime.arrays import means, unit


def random_clusters(seed: int = 0) -> tuple[Clusters, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = Clusters(unit(rng.normal(size=(7, 5))), np.array([0, 0, 0, 1, 2, 2, 2]))
    return clusters, unit(rng.normal(size=(60, 5))), rng.integers(3, size=60)


def same(temperature: float, ceiling: float = 1.0) -> Calibration:
    return Calibration(ConfidenceFit(temperature, ceiling), ConfidenceFit(temperature, ceiling))


@pytest.mark.parametrize("ceiling", [0.3, 1.0])
@pytest.mark.parametrize("temperature", [0.005, 0.05, 1.0])
def test_probabilities_sum_to_one_and_are_zero_outside_the_label(temperature: float, ceiling: float) -> None:
    clusters, features, labels = random_clusters()
    calibration = same(temperature, ceiling)
    free = probabilities(features, clusters, calibration)
    within = probabilities(features, clusters, calibration, labels)
    for found in (free, within):
        assert found.shape == (60, 7)
        assert found.sum(1) == pytest.approx(np.ones(60))
        assert (found >= 0).all()
    outside = labels[:, None] != clusters.parents
    assert (within[outside] == 0).all()
    assert (within.argmax(1) == clusters.nearest(features, labels)).all()
    assert (free.argmax(1) == clusters.nearest(features)).all()
    assert (within[labels == 1, 3] == 1.0).all()  # The only category of a label is certain.


def test_probabilities_by_hand() -> None:
    """Similarities 1 and 0 at temperature 1/2: e² / (e² + 1)."""
    clusters = Clusters(np.eye(2, dtype=np.float32), np.array([0, 0]))
    found = probabilities(np.eye(2, dtype=np.float32)[:1], clusters, same(0.5))
    assert found[0].tolist() == pytest.approx([np.e**2 / (np.e**2 + 1), 1 / (np.e**2 + 1)])
    half = confidence_of(found, np.array([1]), same(0.5, 0.5), np.array([0]))
    assert half.tolist() == pytest.approx([found[0, 1] / 2])


def calibrated(data: Planted, seed: int = 0) -> tuple[Calibration, Clusters]:
    clusters = cluster(data.features, data.labels, len(np.unique(data.truth)))
    return calibrate(data.features, data.features, data.labels, clusters, seed)[0], clusters


def confidence_in(data: Planted, known: bool = True) -> np.ndarray:
    calibration, clusters = calibrated(data)
    labels = data.labels if known else None
    probability = probabilities(data.features, clusters, calibration, labels)
    return confidence_of(probability, probability.argmax(1), calibration, labels)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_confidence_is_higher_for_tight_blobs_than_for_overlapping_ones(seed: int, known: bool) -> None:
    tight, overlapping = (blobs([[60, 60, 60], [50, 50]], spread=spread, dim=8, seed=seed) for spread in (0.05, 1.2))
    assert confidence_in(tight, known).mean() > 0.05 + confidence_in(overlapping, known).mean()


def gaussians(seed: int, spread: float = 0.5, texts: int = 300) -> Planted:
    """Three overlapping categories, with the same centres for every seed."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=texts)
    rows = np.eye(8)[truth] + spread * rng.normal(size=(texts, 8))
    return Planted(unit_rows(rows), np.zeros(texts, dtype=np.int64), truth)


def test_confidence_is_lower_if_the_untrained_features_disagree() -> None:
    data = blobs([[60, 60, 60], [50, 50]], spread=0.1, dim=8)
    clusters = cluster(data.features, data.labels, 5)
    other = unit_rows(np.random.default_rng(0).normal(size=data.features.shape))
    mean_confidences = []
    for before in (data.features, other):
        calibration, _ = calibrate(data.features, before, data.labels, clusters)
        probability = probabilities(data.features, clusters, calibration, data.labels)
        mean_confidences.append(confidence_of(probability, probability.argmax(1), calibration, data.labels).mean())
    assert mean_confidences[1] < mean_confidences[0] - 0.05


def test_wrongly_assigned_texts_have_lower_probabilities() -> None:
    data = gaussians(0)
    calibration, clusters = calibrated(data)
    highest = probabilities(data.features, clusters, calibration).max(1)
    match = {int(c): np.bincount(data.truth[clusters.nearest(data.features) == c]).argmax() for c in range(3)}
    right = np.array([match[int(c)] for c in clusters.nearest(data.features)]) == data.truth
    assert highest[right].mean() > highest[~right].mean() + 0.02


def test_a_clear_category_is_more_stable_than_the_halves_of_one() -> None:
    """Two clear blobs and a third that is cut in two."""
    data = blobs([[60, 60, 120]], spread=0.1, dim=8)
    cut = data.truth + ((data.truth == 2) & (data.features @ np.linspace(-1, 1, 8) > 0))
    clusters = Clusters(unit(means(data.features, cut, 4)[0]), np.zeros(4, dtype=np.int64))
    stability = calibrate(data.features, data.features, data.labels, clusters)[1]
    assert stability[:2].min() > stability[2:].max()
    assert ((stability >= 0) & (stability <= 1)).all()


def test_same_seed_same_confidence() -> None:
    data = gaussians(1)
    assert calibrated(data, seed=3)[0] == calibrated(data, seed=3)[0]


def test_without_two_categories_to_compare_nothing_is_fitted() -> None:
    data = blobs([[10], [12]])
    assert calibrated(data)[0] == UNCALIBRATED


def test_tiny_labels_and_labels_of_one_repeated_text_are_calibrated() -> None:
    data = blobs([[20, 20], [1], [6]], dim=8)
    data.features[data.labels == 2] = data.features[data.labels == 2][0]
    clusters = cluster(data.features, data.labels, 4)
    counted: list[int] = []
    calibration, stability = calibrate(data.features, data.features, data.labels, clusters, advance=counted.append)
    assert sum(counted) == len(data)
    assert stability[clusters.parents == 1].tolist() == [1.0]
    assert np.isfinite(probabilities(data.features, clusters, calibration, data.labels)).all()


def test_a_sample_of_one_repeated_text_is_clustered() -> None:
    """A sample of two distinct texts may contain only one of them."""
    features = np.repeat(np.eye(4, dtype=np.float32)[:2], [5, 1], axis=0)
    labels = np.zeros(6, dtype=np.int64)
    clusters = cluster(features, labels, 2)
    calibration, _ = calibrate(features, features, labels, clusters)
    assert all(0.005 <= fit.temperature <= 1.0 and 0 <= fit.ceiling <= 1 for fit in calibration)
