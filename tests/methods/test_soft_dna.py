"""The default method: its loss and neighbours against loops, its queue, and resumed trainings."""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.methods import prepared, resume
from torch import Tensor

from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods import settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.runtime.progress import Progress
from subtaxa.runtime.signals import Stopped
from subtaxa.training.fit_encoder import train
from subtaxa.training.training_state import History

BATCH = torch.tensor([5, 2, 9])


def begun(tiny_encoder: str, epoch: int = 0, labels: Tensor | None = None, **changes: object) -> SoftDNA:
    """The method in an epoch, without dropout."""
    settings, encoder, data, _ = prepared(tiny_encoder, **{"augment": "none"} | changes)
    if labels is not None:
        data = TrainingData(data.tokens, labels, int(labels.max()) + 1, data.n_categories)
    method = SoftDNA(settings)
    method.start(encoder, data)
    method.begin_epoch(epoch)
    method.tower.eval()
    return method


def features(method: SoftDNA) -> Tensor:
    return method.encoder.features(method.data.tokens)


def move(method: SoftDNA) -> None:
    """Change the encoder, as training does."""
    with torch.no_grad():
        for number, weights in enumerate(method.tower.parameters()):
            weights.add_(0.1 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(number)))


def losses(method: SoftDNA) -> dict[str, float]:
    return {name: float(part.detach()) for name, part in method.loss(method.data.tokens.batch(BATCH)).items()}


NEAR_TIE = 1e-6  # Cosines in float32 that differ by less than this may swap places on another processor.


def check_lists(method: SoftDNA) -> list[list[int]]:
    """Each text's neighbour list, checked by loops: itself first, then the most similar texts of its label."""
    assert method.mined is not None
    indices, stages = method.mined
    rows, labels = method.queue.rows.double(), method.data.labels.tolist()
    similarity = (rows @ rows.T).fill_diagonal_(2.0).tolist()  # A text is its own nearest neighbour.
    lists = [row[valid].tolist() for row, valid in zip(indices, stages["label"], strict=True)]
    for i, (own, found) in enumerate(zip(similarity, lists, strict=True)):
        ranked = sorted((j for j, label in enumerate(labels) if label == labels[i]), key=lambda j: -own[j])[: method.k]
        assert len(set(found)) == len(found) == len(ranked)
        assert {labels[j] for j in found} == {labels[i]}
        # Rank by rank, the similarities agree; only texts in a near-tie may stand in for each other.
        assert [own[j] for j in found] == pytest.approx([own[j] for j in ranked], abs=NEAR_TIE)
    return lists


@pytest.mark.parametrize(("epoch", "neighbours"), [(0, 5), (2, 5), (1, 25)])
def test_neighbours_and_weights_are_those_of_the_slow_loop(tiny_encoder: str, epoch: int, neighbours: int) -> None:
    """Reciprocal neighbours have weight 1/rank, where the text itself has rank 1."""
    method = begun(tiny_encoder, epoch, neighbours=neighbours)
    lists = check_lists(method)
    for i, same in enumerate(lists):
        own = {j: 1 / rank for rank, j in enumerate(same, 1) if i in lists[j]}
        some = method.weights[i] > 0
        found = dict(zip(method.positives[i, some].tolist(), method.weights[i, some].tolist(), strict=True))
        assert found == pytest.approx(own, abs=1e-6)


def test_training_does_not_depend_on_the_number_of_categories(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, augment="none", neighbours="auto")
    found = []
    for number in (data.n_labels, 6, 90):
        method = SoftDNA(settings)
        method.start(encoder, replace(data, n_categories=number))
        method.begin_epoch(0)
        method.tower.eval()
        found.append(({name: tensor.tolist() for name, tensor in method.state().items()}, losses(method)))
    assert found[0] == found[1] == found[2]


def test_the_loss_is_the_slow_loop(tiny_encoder: str) -> None:
    method = begun(tiny_encoder, temperature=0.1)
    move(method)  # A text now differs from its row of the queue.
    queries, queue = features(method), method.queue.rows
    alignment = uniformity = 0.0
    for i in BATCH.tolist():
        logits = [float(queries[i] @ key) / 0.1 for key in queue]
        pairs = list(zip(method.positives[i].tolist(), method.weights[i].tolist(), strict=True))
        alignment -= sum(w * logits[j] for j, w in pairs) / sum(w for _, w in pairs) / len(BATCH)
        uniformity += math.log(sum(map(math.exp, logits))) / len(BATCH)
    assert losses(method) == pytest.approx({"alignment": alignment, "uniformity": uniformity}, rel=1e-4)


def test_neighbours_share_the_label_name_each_other_and_count_less_by_rank(tiny_encoder: str) -> None:
    method = begun(tiny_encoder)
    pairs = {(i, int(j)) for i, row in enumerate(method.positives) for j in row[method.weights[i] > 0]}
    assert all(method.data.labels[i] == method.data.labels[j] for i, j in pairs)
    assert pairs == {(j, i) for i, j in pairs}
    assert len(pairs) > 3 * len(method.data)
    assert torch.equal(method.positives[:, 0], torch.arange(len(method.data)))
    assert (method.weights[:, 0] == 1).all()
    assert all((row[row > 0].diff() < 0).all() for row in method.weights)


def test_what_was_mined_is_what_is_learned_from(tiny_encoder: str) -> None:
    method = begun(tiny_encoder, neighbours=7)
    assert method.mined is not None
    indices, stages = method.mined
    assert torch.equal(indices, method.positives)
    assert torch.equal(stages["reciprocal"], method.weights > 0)
    assert (stages["label"] >= stages["reciprocal"]).all()
    assert set(stages["label"].sum(1).tolist()) == {7}
    log = method.begin_epoch(0)
    assert log["kept"] == pytest.approx(float(stages["reciprocal"].sum(1).float().mean()))


def noise(n: int, seed: int) -> Tensor:
    return torch.nn.functional.normalize(torch.randn(n, 32, generator=torch.Generator().manual_seed(seed)), dim=1)


def with_words(tiny_encoder: str, words: Tensor, **changes: object) -> SoftDNA:
    """The method in its first epoch, with random features."""
    settings, encoder, data, _ = prepared(tiny_encoder, **{"augment": "none", "neighbours": 7} | changes)
    method = SoftDNA(settings)
    method.start(encoder, replace(data, lexical=words, untrained=noise(len(data), 0)[:, : encoder.dimensions]))
    method.begin_epoch(0)
    return method


def test_words_that_tell_the_labels_count_and_others_do_not(tiny_encoder: str) -> None:
    """Lexical features that equal the fine category bring its texts together."""
    _, _, data, fine = prepared(tiny_encoder)
    topics = torch.tensor([sorted(set(fine)).index(name) for name in fine])
    method = with_words(tiny_encoder, torch.eye(len(set(fine)))[topics])
    assert method.lexical_weight > 0
    assert (topics[method.positives] == topics[:, None])[method.weights > 0].float().mean() > 0.9
    settings, encoder, data, _ = prepared(tiny_encoder, augment="none")
    plain = SoftDNA(settings)
    plain.start(encoder, replace(data, lexical=noise(len(data), 1)))  # Here the features tell the labels apart.
    assert plain.begin_epoch(0)["word_weight"] == 0.0


def test_words_never_count_more_than_in_the_first_epoch(tiny_encoder: str) -> None:
    _, _, data, _ = prepared(tiny_encoder)
    method = with_words(tiny_encoder, torch.eye(data.n_labels)[data.labels])
    first = method.max_lexical_weight
    assert first == method.lexical_weight > 0
    method.max_lexical_weight = 0.25
    assert method.begin_epoch(1)["word_weight"] == 0.25
    resumed = begun(tiny_encoder)
    resume(resumed, method)
    assert resumed.max_lexical_weight == 0.25


@pytest.mark.parametrize("cut", [False, True])
def test_words_keep_their_weight_where_the_encoder_reads_only_the_beginnings(tiny_encoder: str, cut: bool) -> None:
    _, _, data, _ = prepared(tiny_encoder)
    method = with_words(tiny_encoder, torch.eye(data.n_labels)[data.labels], **{"max_tokens": 4} if cut else {})
    first = method.lexical_weight
    method.data = replace(method.data, lexical=noise(len(data), 1))  # Harmful lexical features.
    later = method.begin_epoch(1)["word_weight"]
    assert later == first > 0 if cut else later < first


@pytest.mark.parametrize("neighbours", [1, 2, 1000])
def test_labels_of_one_and_two_texts(tiny_encoder: str, neighbours: int) -> None:
    labels = prepared(tiny_encoder)[2].labels.clone()
    labels[5], labels[[2, 9]] = 3, 4
    method = begun(tiny_encoder, labels=labels, neighbours=neighbours)
    assert all(map(math.isfinite, losses(method).values()))
    counts = [int((method.weights[i] > 0).sum()) for i in BATCH]
    assert counts == [1, min(neighbours, 2), min(neighbours, 2)]


def test_the_queue_takes_the_features_that_the_loss_was_made_of(tiny_encoder: str) -> None:
    method = begun(tiny_encoder)
    before, batch = method.queue.rows.clone(), method.data.tokens.batch(BATCH)
    torch.testing.assert_close(before, features(method))
    move(method)
    computed = features(method)
    method.loss(batch)
    move(method)  # The optimiser's step.
    method.after_step(batch)
    torch.testing.assert_close(method.queue.rows[BATCH], computed[BATCH], atol=1e-5, rtol=0)
    assert not torch.allclose(computed[BATCH], before[BATCH], atol=1e-2)
    rest = [i for i in range(len(before)) if i not in BATCH]
    assert torch.equal(method.queue.rows[rest], before[rest])
    assert not method.queue.rows.requires_grad


def test_the_state_of_one_is_the_next_loss_of_another(tiny_encoder: str) -> None:
    method, other = begun(tiny_encoder, epoch=2), begun(tiny_encoder)
    batch = method.data.tokens.batch(torch.tensor([2, 60, 61]))
    move(method)
    method.loss(batch)
    method.after_step(batch)
    assert losses(other) != losses(method)
    resume(other, method)
    assert losses(other) == losses(method)
    assert other.positives.dtype == torch.int64
    for name, tensor in method.state().items():
        assert torch.equal(other.state()[name], tensor), name


def test_training_reads_no_more_tokens_than_a_view_may_have(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = begun(tiny_encoder, augment="shorten", augment_tokens=5)
    inputs, seen = SentenceEncoder.inputs, []

    def watched(self: SentenceEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
        seen.append(batch.attention_mask.shape[1])
        return inputs(self, batch)

    monkeypatch.setattr(SentenceEncoder, "inputs", watched)
    method.loss(method.data.tokens.batch(torch.arange(60)))
    assert seen == [5]
    method.begin_epoch(1)  # The neighbours are those of the whole texts.
    assert max(seen) == int(method.data.tokens.lengths.max()) > 5


def test_the_method_brings_its_own_settings() -> None:
    found = settings_for("default").to_dict()
    assert {name: found[name] for name in SoftDNA.defaults} == dict(SoftDNA.defaults)
    assert settings_for("default", augment="drop").augment == "drop"


def test_after_pretraining_the_neighbours_are_those_of_the_pretrained_encoder(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, epochs=1, pretrain_epochs=1, learning_rate=1e-2)
    before = encoder.features(data.tokens)
    found: list[tuple[Tensor, Tensor]] = []
    refresh = SoftDNA.refresh

    def watched(self: SoftDNA, epoch: int) -> None:
        refresh(self, epoch)
        found.append((self.queue.rows.clone(), self.encoder.features(self.data.tokens)))

    monkeypatch.setattr(SoftDNA, "refresh", watched)
    train(encoder, replace(data, untrained=before), settings, 0, Progress())
    ((queue, pretrained),) = found
    assert torch.equal(queue, pretrained)
    assert not torch.allclose(queue, before, atol=1e-3)


def trained(tiny_encoder: str, folder: Path | None = None) -> tuple[Tensor, History]:
    """The features and the history after three epochs with the default's shortened texts and dropout."""
    settings, encoder, data, _ = prepared(tiny_encoder, epochs=3)
    assert (settings.method, settings.augment) == ("soft-dna", "shorten")
    history, _ = train(encoder, data, settings, 0, Progress(), folder)
    return encoder.features(data.tokens), history


def same_end(first: tuple[Tensor, History], second: tuple[Tensor, History]) -> None:
    assert torch.equal(first[0], second[0])
    ours, theirs = (
        [{name: value for name, value in row.items() if not name.endswith("seconds")} for row in history]
        for _, history in (first, second)
    )
    assert ours == theirs


@pytest.fixture(scope="module")
def whole(tiny_encoder: str) -> tuple[Tensor, History]:
    """An uninterrupted training."""
    return trained(tiny_encoder)


def test_same_seed_same_end(tiny_encoder: str, whole: tuple[Tensor, History]) -> None:
    same_end(trained(tiny_encoder), whole)
    assert [row["epoch"] for row in whole[1]] == [1, 2, 3]
    assert all({"alignment", "uniformity", "kept", "retrieval_seconds"} <= set(row) for row in whole[1])


@pytest.mark.parametrize("steps", [4, 12])  # Within an epoch of six steps, and between two epochs.
def test_a_stopped_training_goes_on_to_the_same_end(
    tiny_encoder: str, whole: tuple[Tensor, History], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    after_step, done = SoftDNA.after_step, 0

    def stopping(self: SoftDNA, batch: Batch) -> None:
        nonlocal done
        after_step(self, batch)
        done += 1
        if done == steps:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(SoftDNA, "after_step", stopping)
        with pytest.raises(Stopped):
            trained(tiny_encoder, tmp_path)
    assert done == steps
    same_end(trained(tiny_encoder, tmp_path), whole)
