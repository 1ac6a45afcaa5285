"""The code paths for very many texts, tested on few texts with lowered limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from helpers.corpus import planted_corpus
from helpers.planted import LargestTensor, blobs, same_partition, unit_tensor
from sklearn.metrics import adjusted_rand_score

from subtaxa.clustering import calibration, filters, kmeans, known_texts, neighbours, text_map, ward_tree
from subtaxa.clustering import clusters as clusters_module
from subtaxa.clustering import forest as forest_module
from subtaxa.clustering.calibration import UNCALIBRATED, confidences_within, probabilities
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.kmeans import spherical_kmeans
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.neighbours import retrieve, retrieve_within
from subtaxa.clustering.number_of_categories import numbers_per_label
from subtaxa.clustering.rules import cluster
from subtaxa.discovery import Discovery
from subtaxa.runtime.progress import Progress
from subtaxa.training import feature_queue
from subtaxa.training.feature_queue import FeatureQueue
from subtaxa.training.losses import multi_positive_nce

CLUSTERED = torch.from_numpy(blobs([[100] * 10, [100] * 10], spread=0.1).features)  # (2000, D)
LABELS = torch.arange(2).repeat_interleave(1000)


@pytest.fixture
def approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is approximate above 100 rows."""
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 100)
    monkeypatch.setattr(neighbours, "MIN_ROWS_SEEN", 300)


@pytest.mark.usefixtures("approximate")
def test_the_approximate_search_finds_nearly_all_neighbours_with_few_comparisons() -> None:
    exact = (CLUSTERED @ CLUSTERED.T).topk(15, dim=1).indices
    with LargestTensor() as watched:
        found = retrieve(CLUSTERED, CLUSTERED, 15)
    assert watched.cells < len(CLUSTERED) ** 2 / 8
    assert found.valid.all()
    assert torch.equal(found.indices[:, 0], torch.arange(len(CLUSTERED)))
    hits = [len(set(a) & set(b)) for a, b in zip(found.indices.tolist(), exact.tolist(), strict=True)]
    assert np.mean(hits) / 15 > 0.95
    assert all(len(set(row)) == 15 for row in found.indices.tolist())


@pytest.mark.usefixtures("approximate")
def test_the_approximate_search_is_deterministic_and_stays_in_the_label() -> None:
    first, again = (retrieve_within(CLUSTERED, CLUSTERED, LABELS, 15) for _ in range(2))
    assert torch.equal(first.indices, again.indices)
    assert (LABELS[first.indices] == LABELS[:, None]).all()


@pytest.mark.usefixtures("approximate")
def test_the_approximate_search_has_the_own_row_first_even_if_it_is_far_away() -> None:
    found = retrieve(-CLUSTERED, CLUSTERED, 3).indices
    assert torch.equal(found[:, 0], torch.arange(len(CLUSTERED)))
    assert all(len(set(row)) == 3 for row in found.tolist())


def test_only_labels_above_the_limit_are_searched_approximately(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = (torch.arange(2000) >= 90).long()
    asked: list[int] = []
    real = neighbours._approximate_blocks

    def watched(queries: torch.Tensor, rows: torch.Tensor, k: int) -> Iterator[neighbours.Block]:
        asked.append(len(rows))
        return real(queries, rows, k)

    monkeypatch.setattr(neighbours, "EXACT_ROWS", 100)
    monkeypatch.setattr(neighbours, "_approximate_blocks", watched)
    retrieve_within(CLUSTERED, CLUSTERED, labels, 5)
    assert asked == [1910]


def test_the_whole_queue_as_negatives_changes_nothing() -> None:
    queries, queue = unit_tensor(6, 8, 1), unit_tensor(50, 8, 2)
    positives, weights = torch.arange(18).view(6, 3), torch.rand(6, 3)
    whole = multi_positive_nce(queries, queue, positives, weights, 0.1)
    assert torch.allclose(
        torch.stack(multi_positive_nce(queries, queue, positives, weights, 0.1, queue)), torch.stack(whole), atol=1e-6
    )


def test_a_sample_of_negatives_gives_the_same_loss_on_average() -> None:
    queries, queue = unit_tensor(6, 8, 1), unit_tensor(4000, 8, 2)
    positives, weights = torch.arange(18).view(6, 3), torch.ones(6, 3)
    whole = float(multi_positive_nce(queries, queue, positives, weights, 0.5)[1])
    parts = [float(multi_positive_nce(queries, queue, positives, weights, 0.5, queue[i::4])[1]) for i in range(4)]
    assert np.log(np.mean(np.exp(parts))) == pytest.approx(whole, abs=0.01)
    assert parts == pytest.approx([whole] * 4, abs=0.2)


def test_a_long_queue_is_sampled_and_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = FeatureQueue(torch.arange(10.0)[:, None])
    assert queue.denominator_sample() is None
    monkeypatch.setattr(feature_queue, "MAX_DENOMINATOR_ROWS", 4)
    torch.manual_seed(0)
    seen = [queue.denominator_sample() for _ in range(20)]
    assert {tuple(rows[:, 0].tolist()) for rows in seen if rows is not None} == {
        (0.0, 3.0, 6.0, 9.0),
        (1.0, 4.0, 7.0),
        (2.0, 5.0, 8.0),
    }
    assert seen[0] is not None
    assert seen[0].untyped_storage().data_ptr() == queue.rows.untyped_storage().data_ptr()


@pytest.mark.parametrize("sizes", [[[60] * 3, [60] * 5], [[200, 90], [60] * 6, [50]]])
def test_a_sample_of_the_texts_gives_the_same_number(sizes: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs(sizes, spread=0.06)
    monkeypatch.setattr(forest_module, "SCORED_TEXTS", 200)
    forest = Forest(data.features, data.labels)
    assert [choice.chosen for choice in numbers_per_label(forest)] == [len(label) for label in sizes]


def test_centroids_are_compared_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs([[30, 20], [25]], spread=0.5)
    clusters = cluster(data.features, data.labels, 3)
    assignment = clusters.nearest(data.features, data.labels)
    texts = [f"text {i}" for i in range(len(data))]

    def compared() -> list[np.ndarray]:
        inside = probabilities(data.features, clusters, UNCALIBRATED, data.labels)
        confidences = confidences_within(data.features, assignment, clusters, UNCALIBRATED, data.labels)
        assert np.array_equal(confidences, inside[np.arange(len(data)), assignment])
        return [
            probabilities(data.features, clusters, UNCALIBRATED),
            inside,
            clusters.nearest(data.features),
            spherical_kmeans(data.features, data.features[:3]),
            KnownTexts.of(texts, data.features, assignment, clusters).keys,
        ]

    whole = compared()
    assert len(whole[-1])
    for module in (calibration, clusters_module, kmeans, known_texts):
        monkeypatch.setattr(module, "BLOCK", 7)
    for one, other in zip(compared(), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_texts_beyond_the_limit_of_the_map_are_placed_near_similar_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs([[120, 80], [160, 40, 100]], spread=0.08)
    monkeypatch.setattr(text_map, "MAX_POINTS", 150)
    places = text_map.text_map(data.features, 0, Progress())
    assert places.shape == (len(data), 2)
    assert np.isfinite(places).all()
    apart = np.linalg.norm(places[:, None] - places, axis=2)  # (N, N)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argsort(1)[:, :5]
    assert (data.truth[nearest] == data.truth[:, None]).mean() > 0.95


def test_all_large_scale_paths_together_find_the_planted_categories(
    quick: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, labels, fine = planted_corpus(60)
    for module, name, value in (
        (neighbours, "EXACT_ROWS", 60),
        (neighbours, "MIN_ROWS_SEEN", 60),
        (neighbours, "ROWS_SEEN_PER_NEIGHBOUR", 1),
        (filters, "TABLE_CELLS_PER_NEIGHBOUR", 0),
        (filters, "SORTED_NEIGHBOURS", 1),
        (feature_queue, "MAX_DENOMINATOR_ROWS", 100),
        (ward_tree, "LARGEST_TREE", 60),
        (ward_tree, "MICRO_CLUSTERS", 40),
        (forest_module, "SCORED_TEXTS", 200),
        (text_map, "MAX_POINTS", 100),
        (calibration, "BLOCK", 50),
        (clusters_module, "BLOCK", 50),
        (kmeans, "BLOCK", 50),
        (known_texts, "BLOCK", 50),
    ):
        monkeypatch.setattr(module, name, value)
    found = Discovery(6, **quick).fit(texts, labels)  # type: ignore[arg-type]
    assert adjusted_rand_score(fine, found.labels_) > 0.9
    again = Discovery(6, **quick).fit(texts, labels)  # type: ignore[arg-type]
    assert same_partition(found.labels_, again.labels_)
    assert np.isfinite(found.map_).all()
