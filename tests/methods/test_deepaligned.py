"""DeepAligned: matching of centroids on small examples, labels that keep their meaning, and the silhouette."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from helpers.methods import prepared
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_samples, silhouette_score

from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.methods import deepaligned, deepcluster, settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.methods.deepaligned import DeepAligned, align
from subtaxa.methods.deepcluster import DeepCluster, kmeans
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer


def test_a_planted_permutation_is_found_again() -> None:
    generator = torch.Generator().manual_seed(0)
    old, order = torch.randn(40, 16, generator=generator), torch.randperm(40, generator=generator)
    new = old[order] + 0.1 * torch.randn(40, 16, generator=generator)
    assert align(old, new).tolist() == order.argsort().tolist()
    torch.testing.assert_close(new[align(old, new)], old, atol=0.6, rtol=0)


@pytest.mark.parametrize("seed", range(5))
def test_alignment_is_the_best_of_all_permutations(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    old, new = torch.randn(2, 5, 3, generator=generator)

    def cost(order: tuple[int, ...]) -> float:
        return sum(float((old[i] - new[j]).norm()) for i, j in enumerate(order))

    assert tuple(align(old, new).tolist()) == min(permutations(range(5)), key=cost)


def test_the_best_whole_is_taken_where_the_nearest_would_clash() -> None:
    old, new = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.9], [2.5]])  # 0.9 is the nearest to both.
    assert align(old, new).tolist() == [0, 1]
    assert align(old, new.flip(0)).tolist() == [1, 0]


def test_placeholders_before_the_first_clustering_take_any_permutation() -> None:
    assert sorted(align(torch.zeros(4, 2), torch.randn(4, 2)).tolist()) == [0, 1, 2, 3]


def begun(tiny_encoder: str, n_categories: int = 6) -> tuple[DeepAligned, SentenceEncoder, TrainingData]:
    _, encoder, data, _ = prepared(tiny_encoder)
    data = TrainingData(data.tokens, data.labels, data.n_labels, n_categories)
    method = DeepAligned(settings_for("paper", method="deepaligned"))
    method.start(encoder, data)
    return method, encoder, data


def test_labels_keep_their_meaning_whatever_order_k_means_gives(tiny_encoder: str) -> None:
    method, _, _ = begun(tiny_encoder)
    method.begin_epoch(0)
    labels, centroids, weight = method.assignment, method.centroids, method.classifier.weight.clone()
    order = torch.tensor([3, 5, 0, 1, 4, 2])
    method.found = centroids[order], order.argsort()[labels]  # The same clusters in another order.
    method.begin_epoch(1)
    assert method.assignment.tolist() == labels.tolist()
    torch.testing.assert_close(method.centroids, centroids, rtol=0, atol=0)
    torch.testing.assert_close(method.classifier.weight, weight, rtol=0, atol=0)


def test_each_centroid_is_the_mean_of_the_texts_that_bear_its_number(tiny_encoder: str) -> None:
    method, _, _ = begun(tiny_encoder)
    for epoch in range(2):
        method.begin_epoch(epoch)
        features = method.features()
        for cluster in range(6):
            own = features[method.assignment == cluster].mean(0)
            torch.testing.assert_close(method.centroids[cluster], own, atol=1e-5, rtol=0)


def test_the_head_starts_as_the_tanh_of_the_encoder_and_leaves_its_mode_alone(tiny_encoder: str) -> None:
    method, encoder, data = begun(tiny_encoder)
    batch = data.tokens.batch(torch.arange(9))
    for training in (True, False):
        encoder.tower.train(training)
        features = method.features()
        assert encoder.tower.training is training
    pooled = encoder.tower(*encoder.inputs(batch)).detach()
    expected = torch.nn.functional.normalize(pooled.tanh(), dim=1)
    torch.testing.assert_close(features[:9], expected, atol=1e-5, rtol=0)


def test_the_score_is_the_silhouette_of_a_fixed_sample(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, _, data = begun(tiny_encoder)
    method.begin_epoch(0)
    score = method.score()
    assert method.found is not None
    features, clusters = method.features().numpy(), method.found[1].numpy()
    by_hand = []
    for i in range(len(data)):
        distances = np.linalg.norm(features - features[i], axis=1)
        own = distances[clusters == clusters[i]].sum() / max(1, (clusters == clusters[i]).sum() - 1)
        other = min(distances[clusters == c].mean() for c in set(clusters) - {clusters[i]})
        by_hand.append((other - own) / max(own, other))
    assert score == pytest.approx(np.mean(by_hand), abs=1e-4)
    monkeypatch.setattr(deepaligned, "SAMPLE", 60)
    sampled = method.score()
    torch.manual_seed(99)
    assert method.score() == sampled != score
    assert sampled == pytest.approx(silhouette_samples(features, clusters).mean(), abs=0.15)


def test_a_resumed_run_finds_the_clusters_that_the_score_had_found(tiny_encoder: str) -> None:
    method, _, _ = begun(tiny_encoder, n_categories=40)  # Too many to be found twice by chance.
    method.begin_epoch(0)
    before = method.centroids
    method.score()
    method.begin_epoch(1)
    labels = method.assignment
    assert method.found is None
    method.centroids = before
    torch.manual_seed(99)
    method.begin_epoch(1)
    assert method.assignment.tolist() == labels.tolist()


@pytest.mark.parametrize("n_categories", [1, 180])
def test_no_silhouette_of_a_single_cluster_or_of_single_texts(tiny_encoder: str, n_categories: int) -> None:
    method, _, _ = begun(tiny_encoder, n_categories)
    method.begin_epoch(0)
    assert method.score() is None


def test_all_texts_are_encoded_once_per_epoch_and_the_best_epoch_is_kept(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, augment="none", learning_rate=3e-3)
    method, calls, kept = DeepAligned(settings), 0, []
    whole, scored = DeepAligned.features, DeepAligned.score

    def features(self: DeepAligned) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return whole(self)

    def score(self: DeepAligned) -> float:  # As if the second epoch were the best.
        scored(self)
        kept.append(encoder.features(data.tokens))
        return [0.1, 0.3, 0.2, 0.2][len(kept) - 1]

    monkeypatch.setattr(DeepAligned, "features", features)
    monkeypatch.setattr(DeepAligned, "score", score)
    Trainer(settings, 0, Progress()).run("", method, encoder, data, 4)
    assert calls == 1 + 4
    torch.testing.assert_close(encoder.features(data.tokens), kept[1], rtol=0, atol=0)
    assert not torch.equal(kept[1], kept[3])


def test_kmeans_runs_until_it_converges_and_deepclusters_stops_after_twenty_rounds(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []

    def watched(*given: object, **named: object) -> KMeans:
        limits.append(named["max_iter"])
        return KMeans(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(deepcluster, "KMeans", watched)
    for method in (DeepAligned, DeepCluster):
        settings, encoder, data, _ = prepared(tiny_encoder)
        one = method(settings)
        one.start(encoder, data)
        one.begin_epoch(0)
    assert limits == [300, 20]


def test_training_draws_the_encoders_own_clusters_together(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, augment="none", learning_rate=5e-3)

    def tightness() -> float:
        features = encoder.features(data.tokens)
        return float(silhouette_score(features.numpy(), kmeans(features, 6, seed=0)[1].numpy()))

    before = tightness()
    Trainer(settings, 0, Progress()).run("", DeepAligned(settings), encoder, data, 4)
    assert tightness() > before + 0.2
