"""WSCL's weighted loss against a slow loop, its layer, and the two depths of the encoder."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import prepared, resume
from helpers.planted import unit_tensor
from torch import Tensor
from torch.nn import functional as F

from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.methods import settings_for
from subtaxa.methods.wscl import OTHER, SAME, WSCL, shallow_layer, weighted_self_contrast

B, C, Q, D = 6, 3, 5, 8
TAU = 0.1
TEXTS = ["my password", "parcel lost please", "refund", "i was charged twice please today"]


def case(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Deep and shallow features, labels, rows, filled, in double precision. Class 2's ring is empty."""
    filled = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5])
    deep, shallow, rows = (F.normalize(unit_tensor(n, D, seed + n).double(), dim=1) for n in (B, B + 1, C * Q))
    rows = rows.view(C, Q, D) * filled[..., None]
    return deep, shallow[:B], torch.tensor([0, 1, 0, 1, 0, 2]), rows, filled


def slow_loss(deep: Tensor, shallow: Tensor, labels: Tensor, rows: Tensor, filled: Tensor, tau: float) -> float:
    total = 0.0
    for i in range(len(labels)):

        def score(row: Tensor, i: int = i) -> float:
            return math.exp(sum(a * b for a, b in zip(deep[i].tolist(), row.tolist(), strict=True)) / tau)

        sums = [0.0, 0.0, 0.0]
        for j in range(len(labels)):
            if j != i:
                weight = 1.0 if labels[i] == labels[j] else 1.4
                sums[0] += weight * score(shallow[j])
                sums[1] += weight * score(deep[j])
        for j in range(filled.shape[1]):
            if filled[labels[i], j]:
                sums[2] += score(rows[labels[i], j])
        total += sum(math.log(negative) for negative in sums if negative) - math.log(score(shallow[i]))
    return total / len(labels)


@pytest.mark.parametrize("seed", [0, 100, 200])
@pytest.mark.parametrize("tau", [TAU, 1.0])
def test_loss_is_the_slow_loop(seed: int, tau: float) -> None:
    given = case(seed)
    assert float(weighted_self_contrast(*given, tau)) == pytest.approx(slow_loss(*given, tau), abs=1e-10)


def test_weights_by_hand() -> None:
    """Two texts, all four features orthogonal, τ = 1: the positive and both negatives are e⁰, no ring."""
    rows, filled = torch.zeros(2, 1, 4), torch.zeros(2, 1, dtype=torch.bool)
    deep, shallow = torch.eye(4)[:2], torch.eye(4)[2:]
    same = weighted_self_contrast(deep, shallow, torch.tensor([1, 1]), rows, filled, 1.0)
    other = weighted_self_contrast(deep, shallow, torch.tensor([0, 1]), rows, filled, 1.0)
    assert (SAME, OTHER) == (1.0, 1.4)
    assert float(same) == pytest.approx(0.0, abs=1e-6)
    assert float(other) == pytest.approx(2 * math.log(1.4))


def test_a_lone_text_without_a_ring_is_only_drawn_to_its_shallow_feature() -> None:
    deep, shallow, labels, rows, filled = case(0)
    deep = deep.requires_grad_()
    loss = weighted_self_contrast(deep[:1], shallow[:1], labels[:1], rows, torch.zeros_like(filled), TAU)
    loss.backward()
    assert loss.item() == pytest.approx(-float(deep[0] @ shallow[0]) / TAU)
    assert deep.grad is not None
    torch.testing.assert_close(deep.grad[0], -shallow[0] / TAU)


@pytest.mark.parametrize("tau", [0.001, 10.0])
def test_gradient_is_finite(tau: float) -> None:
    deep, shallow, labels, rows, filled = case(0)
    deep, rows = deep.float().requires_grad_(), rows.float()
    weighted_self_contrast(deep, shallow.float(), labels, rows, filled, tau).backward()
    assert deep.grad is not None
    assert torch.isfinite(deep.grad).all()
    assert deep.grad.abs().sum() > 0


def test_the_shallow_layer_is_two_thirds_up() -> None:
    assert [shallow_layer(depth) for depth in (1, 2, 3, 6, 12, 24)] == [1, 1, 2, 4, 8, 16]


@pytest.mark.parametrize("layers", ["all", 0, 1, 2, 3])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_depths_are_the_whole_models_hidden_states(
    tiny_encoder: str, layers: int | str, pooling: str, layer: int
) -> None:
    encoder, whole = (
        SentenceEncoder(tiny_encoder, pooling=pooling, trained_layers=layers),
        SentenceEncoder(tiny_encoder),
    )
    encoder.pipeline.eval()
    encoder.tower.eval()
    whole.pipeline.eval()
    batch = encoder.tokenise(TEXTS).batch(torch.arange(len(TEXTS)))
    mask = batch.attention_mask
    states = (
        whole.pipeline[0]
        .model(input_ids=batch.input_ids, attention_mask=mask.long(), output_hidden_states=True)
        .hidden_states
    )
    known = max(layer, encoder.n_frozen_layers)  # For a layer below the tower, the tower's inputs are used.
    expected = states[known][:, 0]
    if pooling == "mean":
        expected = (states[known] * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    inputs = encoder.inputs(batch)
    for tower in (encoder.tower, encoder.momentum_copy()):
        shallow, deep = tower(*inputs, layer=layer)
        torch.testing.assert_close(shallow, expected, atol=1e-5, rtol=0)
        assert torch.equal(deep, tower(*inputs))
        assert shallow.requires_grad == (layer > encoder.n_frozen_layers and tower is encoder.tower)
    assert not any(module._forward_hooks for module in encoder.tower.modules())
    assert encoder.n_layers == 3


def started(tiny_encoder: str, **changes: object) -> WSCL:
    settings, encoder, data, _ = prepared(tiny_encoder, **{**WSCL.defaults, **changes})
    method = WSCL(settings)
    method.start(encoder, data)
    return method


@pytest.mark.parametrize("layers", ["all", 1, 2])
def test_parts_and_gradients_at_every_cut(tiny_encoder: str, layers: int | str) -> None:
    method = started(tiny_encoder, trained_layers=layers)
    method.begin_epoch(0)
    parts = method.loss(method.data.tokens.batch(torch.arange(16)))
    assert list(parts) == ["coarse", "shallow", "contrast"]
    assert float(parts["shallow"].detach()) == pytest.approx(0.001 * math.log(3), rel=0.1)  # Heads start near zero.
    parts["contrast"].backward(retain_graph=True)
    trained = [p for p in method.encoder.tower.parameters() if p.requires_grad]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in trained)
    for p in trained:
        p.grad = None
    parts["shallow"].backward()
    reached = sum(p.grad is not None for p in trained)
    assert (reached > 0) == (layers != 1)  # With one trained layer, the shallow one is frozen.
    assert reached < len(trained)
    assert method.shallow_head.weight.grad.abs().sum() > 0
    assert method.head.weight.grad is None


def move_dense(method: WSCL) -> None:
    """Change the dense layer, as training does."""
    with torch.no_grad():
        method.dense[0].weight.add_(0.3 * torch.randn(32, 32, generator=torch.Generator().manual_seed(0)))


def test_both_depths_pass_one_dense_layer_with_tanh_that_the_momentum_copy_follows(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.begin_epoch(0)
    features = torch.randn(4, 32)
    torch.testing.assert_close(method.dense(features), features.tanh())  # At first the layer is the identity.
    parts = method.loss(method.data.tokens.batch(torch.arange(16)))
    for part in parts.values():
        method.dense.zero_grad()
        part.backward(retain_graph=True)
        assert method.dense[0].weight.grad.abs().sum() > 0
    move_dense(method)
    before, target = method.momentum_dense[0].weight.clone(), method.dense[0].weight
    method.after_step(method.data.tokens.batch(torch.arange(4)))
    torch.testing.assert_close(method.momentum_dense[0].weight, 0.9 * before + 0.1 * target)


def test_the_contrast_is_the_pure_function_of_the_two_depths(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.begin_epoch(0)
    method.encoder.tower.eval()
    move_dense(method)
    batch = method.data.tokens.batch(torch.arange(16))
    shallow, deep = map(method.dense, method.tower(*method.encoder.inputs(batch), layer=2))
    given = F.normalize(deep, dim=1), F.normalize(shallow, dim=1), method.data.labels[:16]
    expected = 0.008 * slow_loss(*given, method.queue.rows, method.queue.filled, 0.1)
    assert float(method.loss(batch)["contrast"].detach()) == pytest.approx(expected, abs=1e-5)


def test_rings_hold_the_momentum_encoders_deep_features(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.begin_epoch(0)
    assert method.queue.rows.shape == (3, 64, 32)
    assert method.queue.written.tolist() == method.data.labels.bincount().clamp(max=64).tolist()
    with torch.no_grad():
        for parameter in method.encoder.tower.parameters():
            parameter.add_(0.5)
    move_dense(method)
    batch = method.data.tokens.batch(torch.tensor([3, 7]))
    method.after_step(batch)
    pooled = method.momentum_tower(*method.encoder.inputs(batch))
    expected = F.normalize(method.momentum_dense(pooled), dim=1)
    for row, label in zip(expected, method.data.labels[[3, 7]].tolist(), strict=True):
        assert (method.queue.rows[label] - row).abs().amax(1).min() < 1e-5


@pytest.mark.parametrize("texts", [1, 2])
def test_small_batches_and_a_label_of_one_text(tiny_encoder: str, texts: int) -> None:
    method = started(tiny_encoder)
    labels = torch.zeros_like(method.data.labels)
    labels[0] = 1  # The only text of its label. No text has label 2.
    object.__setattr__(method.data, "labels", labels)
    for fill in (False, True):
        if fill:
            method.begin_epoch(0)
        loss = torch.stack(list(method.loss(method.data.tokens.batch(torch.arange(texts))).values())).sum()
        loss.backward()
        assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in method.encoder.tower.parameters() if p.requires_grad)


def test_the_state_is_all_that_a_resumed_run_needs(tiny_encoder: str) -> None:
    first, second = started(tiny_encoder), started(tiny_encoder)
    batch = first.data.tokens.batch(torch.arange(16))
    first.begin_epoch(0)
    first.after_step(batch)
    resume(second, first)
    losses = []
    for method in (first, second):
        method.after_step(batch)
        torch.manual_seed(5)
        losses.append(method.loss(batch)["contrast"])
    assert torch.equal(*losses)


def test_the_authors_settings() -> None:
    settings = settings_for("paper", method="wscl")
    assert (settings.temperature, settings.momentum, settings.augment) == (0.1, 0.9, "none")
    assert settings.pretrain_epochs == 0
