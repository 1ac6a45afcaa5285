"""The contract of every method, and DNA's E-step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.methods import prepared

from subtaxa.encoders.tokens import Tokens
from subtaxa.errors import SettingError
from subtaxa.methods import method_class, variants
from subtaxa.methods.base import TrainingData
from subtaxa.methods.dna import DNA
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer

TRAINED = [name for name in variants() if name != "bert"]


def train(tiny_encoder: str, name: str, **changes: object) -> tuple[torch.Tensor, list[dict[str, float]]]:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, per_topic=10, **changes)
    history = Trainer(settings, 0, Progress()).run("", method_class(name)(settings), encoder, data, settings.epochs)
    return encoder.features(data.tokens), history


@pytest.mark.parametrize("name", TRAINED)
def test_loss_is_finite_and_reaches_the_encoder(tiny_encoder: str, name: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, per_topic=10)
    method = method_class(name)(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    loss = sum(method.loss(data.tokens.batch(torch.arange(16))).values())
    assert torch.isfinite(loss)
    loss.backward()
    gradients = [p.grad for p in encoder.tower.parameters() if p.requires_grad]
    assert gradients
    assert all(g is not None and torch.isfinite(g).all() for g in gradients)
    assert any(g.abs().sum() > 0 for g in gradients)


@pytest.mark.parametrize("name", TRAINED)
def test_same_seed_same_features(tiny_encoder: str, name: str) -> None:
    first, history = train(tiny_encoder, name, epochs=2)
    second, _ = train(tiny_encoder, name, epochs=2)
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert [row["epoch"] for row in history] == [1, 2]


@pytest.mark.parametrize("name", TRAINED)
def test_the_loss_falls_on_planted_data(tiny_encoder: str, name: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, per_topic=20, augment="none")
    method = method_class(name)(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    optimizer = torch.optim.AdamW([p for m in method.modules().values() for p in m.parameters()], 1e-3)
    batch = data.tokens.batch(torch.arange(len(data)))
    losses = []
    for _ in range(12):
        loss = torch.stack(list(method.loss(batch).values())).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] - 0.05


IN_BATCH = ("simcse", "simcse+ce", "delete", "delete+ce", "nncl", "clnn", "wscl")


@pytest.mark.parametrize("name", variants())
def test_methods_with_negatives_in_the_batch_get_random_batches(
    tiny_encoder: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches of texts of similar length, the negatives would be matched by length."""
    asked = []
    real = Tokens.shuffled_batches

    def batches(self: Tokens, *given: object, by_length: bool) -> list[torch.Tensor]:
        asked.append(by_length)
        return real(self, *given, by_length=by_length)  # type: ignore[arg-type]

    monkeypatch.setattr(Tokens, "shuffled_batches", batches)
    train(tiny_encoder, name, epochs=0)
    assert asked == [name not in IN_BATCH]


def test_random_batches_mix_lengths_and_hold_each_text_once(tiny_encoder: str) -> None:
    tokens = prepared(tiny_encoder)[2].tokens
    spread = {}
    for by_length in (True, False):
        batches = tokens.shuffled_batches(8, torch.Generator().manual_seed(0), by_length=by_length)
        assert sorted(torch.cat(batches).tolist()) == list(range(len(tokens)))
        spread[by_length] = sum(float(tokens.lengths[batch].float().std()) for batch in batches[:-1])
    assert spread[False] > 2 * spread[True]


@pytest.mark.parametrize("name", ["down", "star"])
def test_down_retrieves_k_neighbours_beside_the_text_itself(tiny_encoder: str, name: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, neighbours=6)
    method = method_class(name)(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    assert method.positives.shape == (len(data), 7)
    assert torch.equal(method.positives[:, 0], torch.arange(len(data)))
    expected = torch.tensor([150.0 ** (-rank / 6) for rank in range(7)]).expand(len(data), 7)
    torch.testing.assert_close(method.weights, expected)


def test_bert_changes_nothing(tiny_encoder: str) -> None:
    _, encoder, data, _ = prepared(tiny_encoder, per_topic=10)
    before = encoder.features(data.tokens)
    after, _ = train(tiny_encoder, "bert")
    torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_every_filter_raises_neighbour_accuracy_and_never_empties_a_set(tiny_encoder: str) -> None:
    settings, encoder, data, fine = prepared(tiny_encoder, method="dna", neighbours=40, rank_epochs=1)
    numbers = torch.from_numpy(np.unique(fine, return_inverse=True)[1])
    method = DNA(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    assert method.mined is not None
    indices, stages = method.mined
    right = numbers[indices] == numbers[:, None]
    accuracy = {stage: float(right[kept].float().mean()) for stage, kept in stages.items()}
    assert all((kept.sum(1) >= 1).all() for kept in stages.values())
    assert list(accuracy) == ["knn", "label", "reciprocal", "rank"]
    assert accuracy["knn"] < accuracy["label"] < accuracy["reciprocal"] <= accuracy["rank"]
    assert list(method.filter(method.retrieve(method.queue.rows), method.queue.rows, epoch=1))[-1] == "reciprocal"


def test_queue_rows_of_the_batch_come_from_the_momentum_encoder(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method="dna", momentum=0.9)
    method = method_class("dna")(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    before = method.queue.rows.clone()
    with torch.no_grad():
        for parameter in encoder.tower.parameters():
            parameter.add_(0.5)
    batch = data.tokens.batch(torch.tensor([3, 7]))
    method.after_step(batch)
    expected = encoder.features(data.tokens, method.momentum_tower)[[3, 7]]
    torch.testing.assert_close(method.queue.rows[[3, 7]], expected, atol=1e-5, rtol=0)
    others = [i for i in range(len(data)) if i not in (3, 7)]
    torch.testing.assert_close(method.queue.rows[others], before[others], rtol=0, atol=0)


def test_training_data_has_no_room_for_fine_labels() -> None:
    assert set(TrainingData.__dataclass_fields__) == {
        "tokens",
        "labels",
        "n_labels",
        "n_categories",
        "untrained",
        "lexical",
    }


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(SettingError, match=r"unknown method 'dan': use .*dna"):
        method_class("dan")
