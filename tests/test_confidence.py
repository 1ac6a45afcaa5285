"""Probabilities are probabilities, and the temperature follows how clear-cut the categories are."""

from __future__ import annotations

import numpy as np
import pytest
from planted import Planted, blobs, unit_rows

from subtaxa.bench.scoring import score
from subtaxa.clustering import Clusters, cluster, unit
from subtaxa.confidence import UNKNOWN, calibrate, probabilities


def random_clusters(seed: int = 0) -> tuple[Clusters, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = Clusters(unit(rng.normal(size=(7, 5))), np.array([0, 0, 0, 1, 2, 2, 2]))
    return clusters, unit(rng.normal(size=(60, 5))), rng.integers(3, size=60)


@pytest.mark.parametrize("temperature", [0.005, 0.05, 1.0])
def test_probabilities_sum_to_one_and_are_zero_outside_the_label(temperature: float) -> None:
    clusters, features, labels = random_clusters()
    free = probabilities(features, clusters, temperature)
    within = probabilities(features, clusters, temperature, labels)
    for found in (free, within):
        assert found.shape == (60, 7)
        assert found.sum(1) == pytest.approx(np.ones(60))
        assert (found >= 0).all()
    outside = labels[:, None] != clusters.parents
    assert (within[outside] == 0).all()
    assert (within.argmax(1) == clusters.nearest(features, labels)).all()
    assert (free.argmax(1) == clusters.nearest(features)).all()
    assert (within[labels == 1, 3] == 1.0).all()  # an only child is certain


def test_probabilities_by_hand() -> None:
    """Similarities 1 and 0 at temperature 1/2: e² / (e² + 1)."""
    clusters = Clusters(np.eye(2, dtype=np.float32), np.array([0, 0]))
    found = probabilities(np.eye(2, dtype=np.float32)[:1], clusters, 0.5)
    assert found[0].tolist() == pytest.approx([np.e**2 / (np.e**2 + 1), 1 / (np.e**2 + 1)])


def calibrated(data: Planted, seed: int = 0) -> tuple[float, Clusters]:
    clusters = cluster(data.features, data.labels, len(np.unique(data.truth)))
    return calibrate(data.features, data.labels, clusters, seed), clusters


@pytest.mark.parametrize("seed", range(3))
def test_tight_blobs_are_surer_than_overlapping_ones(seed: int) -> None:
    tight, overlapping = (blobs([[60, 60, 60], [50, 50]], spread=spread, dim=8, seed=seed) for spread in (0.05, 0.5))
    (cold, _), (warm, _) = calibrated(tight), calibrated(overlapping)
    assert cold < 0.5 * warm


def gaussians(seed: int, spread: float = 0.5, texts: int = 300) -> Planted:
    """Three overlapping categories at the same places, whatever the seed."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=texts)
    rows = np.eye(8)[truth] + spread * rng.normal(size=(texts, 8))
    return Planted(unit_rows(rows), np.zeros(texts, dtype=np.int64), truth)


@pytest.mark.parametrize("seed", range(3))
def test_mean_confidence_is_near_the_agreement_of_independent_clusterings(seed: int) -> None:
    """How often another draw of texts would have put a text into the same category; about 95 % here."""
    data = gaussians(seed)
    temperature, clusters = calibrated(data)
    ours = clusters.nearest(data.features)
    others = [cluster(gaussians(100 + s).features, data.labels, 3) for s in range(4)]
    agreement = float(np.mean([score(ours, other.nearest(data.features)).acc for other in others])) / 100
    sure = probabilities(data.features, clusters, temperature).max(1)
    assert float(sure.mean()) == pytest.approx(agreement, abs=0.06)
    assert 0.85 < agreement < 0.99  # or the test says nothing


def test_wrongly_placed_texts_are_less_sure() -> None:
    data = gaussians(0)
    temperature, clusters = calibrated(data)
    sure = probabilities(data.features, clusters, temperature).max(1)
    match = {int(c): np.bincount(data.truth[clusters.nearest(data.features) == c]).argmax() for c in range(3)}
    right = np.array([match[int(c)] for c in clusters.nearest(data.features)]) == data.truth
    assert sure[right].mean() > sure[~right].mean() + 0.02


def test_the_temperature_does_not_hang_on_one_unlucky_resample() -> None:
    """Eight blobs far apart: no resample has reason to disagree, whatever the seed."""
    data = blobs([[40] * 8], spread=0.1, dim=12)
    clusters = calibrated(data)[1]
    found = [calibrate(data.features, data.labels, clusters, seed) for seed in range(8)]
    assert max(found) < 0.05


def test_same_seed_same_temperature() -> None:
    data = gaussians(1)
    assert calibrated(data, seed=3)[0] == calibrated(data, seed=3)[0]


def test_without_two_categories_to_compare_the_temperature_is_the_fixed_one() -> None:
    data = blobs([[10], [12]])
    assert calibrated(data)[0] == UNKNOWN


def test_labels_too_small_or_of_one_repeated_text_do_no_harm() -> None:
    data = blobs([[20, 20], [1], [6]], dim=8)
    data.features[data.labels == 2] = data.features[data.labels == 2][0]
    clusters = cluster(data.features, data.labels, 4)
    counted: list[int] = []
    temperature = calibrate(data.features, data.labels, clusters, advance=counted.append)
    assert 0.005 <= temperature <= 1.0
    assert sum(counted) == len(data)
    assert np.isfinite(probabilities(data.features, clusters, temperature, data.labels)).all()


def test_repeated_texts_in_a_resample_do_no_harm() -> None:
    """Two distinct texts: a resample may hold only one of them."""
    features = np.repeat(np.eye(4, dtype=np.float32)[:2], [5, 1], axis=0)
    labels = np.zeros(6, dtype=np.int64)
    clusters = cluster(features, labels, 2)
    assert 0.005 <= calibrate(features, labels, clusters) <= 1.0
