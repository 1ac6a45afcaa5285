"""One contract for every method, and DNA's own E-step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import planted_corpus

from subtaxa.encoder import Encoder
from subtaxa.errors import SettingError
from subtaxa.methods import method_class, settings_for, variants
from subtaxa.methods.base import Method, TrainingData
from subtaxa.methods.dna import DNA
from subtaxa.progress import Progress
from subtaxa.settings import Settings
from subtaxa.trainer import Trainer

TRAINED = [name for name in variants() if name != "bert"]


def prepared(tiny_encoder: str, **changes: object) -> tuple[Settings, Encoder, TrainingData, list[str]]:
    given = {"encoder": tiny_encoder, "neighbours": 20, "epochs": 4, "batch_size": 32, "learning_rate": 1e-3} | changes
    texts, labels, fine = planted_corpus()
    settings = settings_for("default", **given).for_data(texts, len(set(fine)))
    torch.manual_seed(0)
    longest = settings.max_tokens if isinstance(settings.max_tokens, int) else None
    encoder = Encoder(tiny_encoder, max_tokens=longest, trained_layers=settings.trained_layers)
    names, numbers = np.unique(labels, return_inverse=True)
    data = TrainingData(
        encoder.cache_lower(encoder.tokenise(texts)), torch.from_numpy(numbers), len(names), len(set(fine))
    )
    return settings, encoder, data, fine


def resume(method: Method, stopped: Method) -> None:
    """Give a method all that a checkpoint holds of another."""
    for name, module in method.modules().items():
        module.load_state_dict(stopped.modules()[name].state_dict())
    method.load_state({name: tensor.clone() for name, tensor in stopped.state().items()})


def train(tiny_encoder: str, name: str, **changes: object) -> tuple[torch.Tensor, list[dict[str, float]]]:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, **changes)
    history = Trainer(settings, 0, Progress()).run("", method_class(name)(settings), encoder, data, settings.epochs)
    return encoder.features(data.tokens), history


@pytest.mark.parametrize("name", TRAINED)
def test_loss_is_finite_and_reaches_the_encoder(tiny_encoder: str, name: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name)
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
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, view="none")
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


def test_bert_changes_nothing(tiny_encoder: str) -> None:
    _, encoder, data, _ = prepared(tiny_encoder)
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
        "unknown",
        "estimating",
        "fixed",
        "untrained",
        "words",
    }


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(SettingError, match=r"unknown method 'dan': use .*dna"):
        method_class("dan")
