"""DeepCluster: whitening, k-means and balanced sampling on small examples, then the method itself."""

from __future__ import annotations

import signal
import warnings
from functools import cache
from pathlib import Path

import pytest
import torch
from helpers.methods import prepared
from helpers.planted import blobs, same_partition
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score

from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods import method_class, settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.methods.deepcluster import DeepCluster, kmeans, uniform_over_clusters, whitened
from subtaxa.runtime.progress import Progress
from subtaxa.runtime.signals import Stopped
from subtaxa.training.trainer import Trainer


def correlated(n: int, d: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator) @ torch.randn(d, d, generator=generator) + 3.0


@pytest.mark.parametrize("dims", [1, 5, 12])
def test_whitened_features_are_uncorrelated_with_variance_one(dims: int) -> None:
    rows = whitened(correlated(300, 12), dims)
    assert rows.shape == (300, dims)
    torch.testing.assert_close(rows.mean(0), torch.zeros(dims), atol=1e-5, rtol=0)
    covariance = rows.T @ rows / (len(rows) - 1)
    torch.testing.assert_close(covariance, torch.eye(dims), atol=1e-4, rtol=0)


def test_whitened_is_scikit_learns_pca_up_to_signs() -> None:
    features = correlated(200, 12, seed=1)
    theirs = torch.from_numpy(PCA(7, whiten=True, svd_solver="full").fit_transform(features.double().numpy())).float()
    torch.testing.assert_close(whitened(features, 7).abs(), theirs.abs(), atol=1e-4, rtol=0)


def test_directions_without_variance_are_not_blown_up() -> None:
    features = correlated(100, 3) @ torch.randn(3, 10, generator=torch.Generator().manual_seed(2))  # Rank 3.
    variances = whitened(features, 10).var(0)
    torch.testing.assert_close(variances[:3], torch.ones(3), atol=1e-3, rtol=0)
    assert (variances[3:] < 1e-3).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_texts_that_are_all_the_same_whiten_to_nothing(n: int) -> None:
    assert (whitened(torch.full((n, 4), 0.5), 3) == 0).all()


def test_kmeans_finds_the_blobs_and_their_means() -> None:
    planted = blobs([[30, 20], [50]])
    features = torch.from_numpy(planted.features)
    centroids, assignment = kmeans(features, 3, seed=0)
    assert same_partition(assignment.tolist(), planted.truth)
    for cluster, centroid in enumerate(centroids):
        torch.testing.assert_close(centroid, features[assignment == cluster].mean(0), atol=1e-5, rtol=0)


def test_kmeans_takes_fewer_distinct_texts_than_clusters_without_a_word() -> None:
    features = torch.eye(3)[torch.tensor([0, 0, 1, 1, 2, 2])]
    with warnings.catch_warnings(action="error"):
        centroids, assignment = kmeans(features, 5, seed=0)
    assert centroids.shape == (5, 3)
    assert same_partition(assignment.tolist(), [0, 0, 1, 1, 2, 2])


def test_one_text_comes_as_often_as_a_hundred_others_together() -> None:
    assignment = torch.tensor([0] * 100 + [1])
    drawn = uniform_over_clusters(assignment, 101)
    assert sorted(assignment[drawn].bincount().tolist()) == [50, 51]
    large = drawn[drawn < 100]
    assert len(large.unique()) == len(large), "a large cluster's text came twice while others did not come at all"


def test_every_cluster_and_inside_it_every_text_comes_equally_often() -> None:
    torch.manual_seed(0)
    sizes = torch.tensor([7, 0, 1, 40, 12])  # The second cluster is empty.
    assignment = torch.arange(5).repeat_interleave(sizes)[torch.randperm(60)]
    drawn = uniform_over_clusters(assignment, 97)
    assert len(drawn) == 97
    counts = assignment[drawn].bincount()
    assert counts[1] == 0
    assert set(counts[sizes > 0].tolist()) <= {24, 25}  # 97 / 4
    per_text = drawn.bincount(minlength=60)
    for cluster in (0, 2, 3, 4):
        own = per_text[assignment == cluster]
        assert own.max() - own.min() <= 1


def test_draws_differ_and_favour_no_text() -> None:
    torch.manual_seed(0)
    assignment = torch.tensor([0] * 20 + [1] * 4)
    drawn = torch.stack([uniform_over_clusters(assignment, 16) for _ in range(500)])  # 8 of 20 each time.
    assert len({tuple(sorted(row)) for row in drawn.tolist()}) > 100
    share = drawn.flatten().bincount() / 500
    torch.testing.assert_close(share[:20], torch.full((20,), 0.4), atol=0.1, rtol=0)
    torch.testing.assert_close(share[20:], torch.full((4,), 2.0), rtol=0, atol=0)


def begun(
    tiny_encoder: str, name: str, **changes: object
) -> tuple[DeepCluster, SentenceEncoder, TrainingData, list[str]]:
    """The method with its default settings, before the first epoch."""
    _, encoder, data, fine = prepared(tiny_encoder)
    method = method_class(name)(settings_for("paper", method=name, **changes))
    assert isinstance(method, DeepCluster)
    method.start(encoder, data)
    return method, encoder, data, fine


def test_an_epoch_begins_with_good_clusters_and_a_new_classifier_in_the_same_tensors(tiny_encoder: str) -> None:
    method, _, data, fine = begun(tiny_encoder, "deepcluster")
    assert method.training_subset() is None
    weight = method.classifier.weight
    assert method.begin_epoch(0) == {"clusters": 6.0}
    assert normalized_mutual_info_score(fine, method.assignment.numpy()) > 0.5
    drawn = method.training_subset()
    assert drawn is not None
    assert len(drawn) == len(data)
    assert set(method.assignment[drawn].bincount().tolist()) == {30}  # 180 texts, 6 clusters
    with torch.no_grad():
        weight.fill_(7.0)
        method.classifier.bias.fill_(7.0)
    method.begin_epoch(1)
    assert method.classifier.weight is weight
    assert 0.005 < float(weight.detach().std()) < 0.02
    assert (method.classifier.bias == 0).all()


@pytest.mark.parametrize("name", ["deepcluster", "deepaligned"])
def test_the_loss_is_the_cross_entropy_of_the_clusters_and_only_ce_adds_the_labels(
    tiny_encoder: str, name: str
) -> None:
    method, _, data, _ = begun(tiny_encoder, name)
    method.begin_epoch(0)
    batch = data.tokens.batch(torch.arange(8))
    method.tower.eval()
    parts = method.loss(batch)
    assert list(parts) == ["pseudo"]
    pooled = method.tower(*method.encoder.inputs(batch))
    seen = pooled if name == "deepcluster" else pooled.tanh()  # The dense layer is still the identity.
    logits = seen @ method.classifier.weight.T + method.classifier.bias
    by_hand = -sum(logits[i].log_softmax(0)[method.assignment[i]] for i in range(8)) / 8
    torch.testing.assert_close(parts["pseudo"], by_hand)
    joint, _, _, _ = begun(tiny_encoder, f"{name}+ce")
    joint.begin_epoch(0)
    parts = joint.loss(batch)
    assert list(parts) == ["pseudo", "coarse"]
    assert float(parts["coarse"].detach()) > 0.5  # An untrained head has a loss of about ln 3.


@pytest.mark.parametrize("name", ["deepcluster+ce", "deepaligned+ce"])
@pytest.mark.parametrize(("texts", "categories"), [(1, 1), (2, 6), (7, 3)])
def test_few_texts(tiny_encoder: str, name: str, texts: int, categories: int) -> None:
    _, encoder, _, _ = prepared(tiny_encoder)
    tokens = encoder.tokenise(["refund", "my parcel", "password reset"] * 2 + ["invoice"])
    small = TrainingData(tokens, torch.tensor([0, 1, 2] * 2 + [0]), 3, categories)
    few = TrainingData(encoder.tokenise(["refund", "my parcel"][:texts]), torch.arange(texts), texts, categories)
    data = small if texts == 7 else few
    settings = settings_for("paper", method=name, epochs=2, batch_size=2)
    history = Trainer(settings, 0, Progress()).run("", method_class(name)(settings), encoder, data, 2)
    assert len(history) == 2
    assert torch.isfinite(encoder.features(data.tokens)).all()


@cache
def outcome(
    tiny_encoder: str, name: str, file: Path | None = None, stop_after: int | None = None
) -> tuple[torch.Tensor, list[dict[str, float]]]:
    """Features and history after two epochs of six steps. Ctrl-C can be simulated after a step."""
    _, encoder, data, _ = prepared(tiny_encoder)
    settings = settings_for("default", method=name, encoder=tiny_encoder, epochs=2, batch_size=32, learning_rate=3e-3)
    method, steps = method_class(name)(settings), 0

    def after_step(batch: Batch) -> None:
        nonlocal steps
        steps += 1
        if steps == stop_after:
            signal.raise_signal(signal.SIGINT)

    method.after_step = after_step  # type: ignore[method-assign]
    history = Trainer(settings, 0, Progress(), file).run("", method, encoder, data, settings.epochs)
    return encoder.features(data.tokens), [{k: v for k, v in row.items() if k != "seconds"} for row in history]


@pytest.mark.parametrize("name", ["deepcluster", "deepaligned"])
@pytest.mark.parametrize("stop_after", [6, 8])  # At the end of the first epoch, and within the second.
def test_a_stopped_training_ends_where_an_unbroken_one_does(
    tiny_encoder: str, tmp_path: Path, name: str, stop_after: int
) -> None:
    features, history = outcome(tiny_encoder, name)
    with pytest.raises(Stopped):
        outcome(tiny_encoder, name, tmp_path / "state", stop_after)
    resumed, again = outcome(tiny_encoder, name, tmp_path / "state")
    torch.testing.assert_close(resumed, features, rtol=0, atol=0)
    assert again == history
