"""ANCOR: angles computed by hand, the loss against a slow loop, and the content of the rings."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import prepared, resume
from helpers.planted import unit_tensor
from torch import Tensor

from subtaxa.methods import settings_for
from subtaxa.methods.ancor import Ancor, AncorCE, angles, angular_nce

B, C, Q, P = 6, 3, 5, 4
TAU = 0.2


def case(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Queries, keys, labels, weights, rows, filled, of any length and in double precision. Class 2's ring is empty."""
    rng = torch.Generator().manual_seed(seed)
    queries, keys, weights = (torch.randn(n, P, generator=rng).double() for n in (B, B, C))
    filled = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5])
    rows = torch.randn(C, Q, P, generator=rng).double() * filled[..., None]
    return queries, keys, torch.tensor([0, 0, 1, 1, 0, 2]), weights, rows, filled


def slow_angle(feature: list[float], anchor: list[float]) -> list[float]:
    def unit(v: list[float]) -> list[float]:
        return [x / math.sqrt(sum(y * y for y in v)) for x in v]

    return unit([x - y for x, y in zip(unit(feature), unit(anchor), strict=True)])


def slow_loss(queries: Tensor, keys: Tensor, labels: Tensor, weights: Tensor, rows: Tensor, filled: Tensor) -> float:
    total = 0.0
    for i, label in enumerate(labels.tolist()):
        anchor = weights[label].tolist()
        query = slow_angle(queries[i].tolist(), anchor)
        others = [rows[label, j].tolist() for j in range(Q) if filled[label, j]]
        candidates = [slow_angle(v, anchor) for v in [keys[i].tolist(), *others]]
        scores = [math.exp(sum(a * b for a, b in zip(query, v, strict=True)) / TAU) for v in candidates]
        total -= math.log(scores[0] / sum(scores))
    return total / len(labels)


@pytest.mark.parametrize("seed", range(3))
def test_loss_is_the_slow_loop(seed: int) -> None:
    given = case(seed)
    assert float(angular_nce(*given, TAU)) == pytest.approx(slow_loss(*given), abs=1e-10)


def test_angles_by_hand() -> None:
    """From an anchor along x, y is in the direction (−1, 1) and −x in (−1, 0), for any lengths."""
    found = angles(torch.tensor([[0.0, 3.0], [-2.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.1, 0.0]]))
    half = math.sqrt(0.5)
    torch.testing.assert_close(found, torch.tensor([[-half, half], [-1.0, 0.0]]))


def test_a_feature_on_its_anchor_has_no_direction_and_breaks_nothing() -> None:
    weight = unit_tensor(1, P, 3)
    feature = (2 * weight).requires_grad_()
    nothing = angles(feature, weight)
    torch.testing.assert_close(nothing, torch.zeros(1, P), atol=0.2, rtol=0)  # Only rounding errors.
    loss = angular_nce(feature, weight, torch.tensor([0]), weight, torch.zeros(1, Q, P), torch.ones(1, Q) > 0, TAU)
    loss.backward()
    assert torch.isfinite(loss)
    assert feature.grad is not None
    assert torch.isfinite(feature.grad).all()


def test_negatives_are_of_the_same_class_only() -> None:
    queries, keys, labels, weights, rows, filled = case(0)
    before = angular_nce(queries[:1], keys[:1], labels[:1], weights, rows, filled, TAU)
    changed = rows.clone()
    changed[1:] = 7.0
    assert torch.equal(before, angular_nce(queries[:1], keys[:1], labels[:1], weights, changed, filled, TAU))
    changed[0, 0] = queries[0]  # A negative that equals the query.
    assert angular_nce(queries[:1], keys[:1], labels[:1], weights, changed, filled, TAU) > before


def test_with_an_empty_ring_there_is_nothing_to_tell_apart() -> None:
    queries, keys, labels, weights, rows, filled = case(0)
    queries.requires_grad_()
    loss = angular_nce(queries, keys, labels, weights, rows, torch.zeros_like(filled), TAU)
    loss.backward()
    assert loss.item() == 0.0
    assert queries.grad is not None
    assert torch.equal(queries.grad, torch.zeros_like(queries))


def started(tiny_encoder: str, kind: type[Ancor] = Ancor, **changes: object) -> Ancor:
    settings, encoder, data, _ = prepared(tiny_encoder, **{**kind.defaults, "augment": "none", **changes})
    method = kind(settings)
    method.start(encoder, data)
    return method


def test_rings_are_filled_before_the_first_epoch_and_not_again(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    sizes = method.data.labels.bincount()
    assert not method.queue.filled.any()
    method.begin_epoch(0)
    assert method.queue.written.tolist() == sizes.clamp(max=method.queue.length).tolist()
    torch.testing.assert_close(method.queue.rows.norm(dim=2), method.queue.filled.float())
    rows = method.queue.rows.clone()
    method.begin_epoch(1)
    assert torch.equal(method.queue.rows, rows)


def test_after_a_step_the_rings_hold_its_keys_and_the_momentum_encoder_has_moved(tiny_encoder: str) -> None:
    method = started(tiny_encoder, momentum=0.9)
    batch = method.data.tokens.batch(torch.tensor([4, 8]))
    method.loss(batch)
    expected = method.keys(batch)
    before = method.momentum_projection[0].weight.clone()
    with torch.no_grad():
        method.projection[0].weight.add_(1.0)
    method.after_step(batch)
    assert int(method.queue.written.sum()) == 2
    for row, label in zip(expected, method.data.labels[[4, 8]].tolist(), strict=True):
        held = method.queue.rows[label][method.queue.filled[label]]
        assert any(torch.allclose(row, other, atol=1e-6) for other in held)
    torch.testing.assert_close(method.momentum_projection[0].weight, before + 0.1)


def test_the_contrast_does_not_train_the_classifier(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.begin_epoch(0)
    parts = method.loss(method.data.tokens.batch(torch.arange(16)))
    parts["contrast"].backward(retain_graph=True)
    assert method.classifier.weight.grad is None
    assert method.projection[0].weight.grad.abs().sum() > 0
    parts["projected_coarse"].backward()
    assert method.classifier.weight.grad.abs().sum() > 0


def test_ce_adds_the_coarse_labels_on_the_encoders_output(tiny_encoder: str) -> None:
    parts = {}
    for kind in (Ancor, AncorCE):
        method = started(tiny_encoder, kind)
        parts[kind] = method.loss(method.data.tokens.batch(torch.arange(16)))
    assert list(parts[Ancor]) == ["contrast", "projected_coarse"]
    assert list(parts[AncorCE]) == ["contrast", "projected_coarse", "coarse"]
    parts[AncorCE]["coarse"].backward()
    assert method.head.weight.grad.abs().sum() > 0
    assert method.projection[0].weight.grad is None


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_authors_settings(preset: str) -> None:
    settings = settings_for(preset, method="ancor")
    assert (settings.temperature, settings.momentum, settings.coarse_weight) == (0.2, 0.999, 0.0)
    assert settings_for(preset, method="ancor+ce").coarse_weight == 1.0


@pytest.mark.parametrize("texts", [1, 2])
def test_small_batches_and_a_label_of_one_text(tiny_encoder: str, texts: int) -> None:
    method = started(tiny_encoder, augment="drop")
    labels = torch.zeros_like(method.data.labels)
    labels[0] = 1  # The only text of its label. No text has label 2.
    object.__setattr__(method.data, "labels", labels)
    method.begin_epoch(0)
    batch = method.data.tokens.batch(torch.arange(texts))
    loss = torch.stack(list(method.loss(batch).values())).sum()
    loss.backward()
    method.after_step(batch)
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in method.encoder.tower.parameters() if p.requires_grad)
    assert method.queue.written[:2].tolist() == [min(len(labels) - 1, method.queue.length) + texts - 1, 2]


def test_the_state_is_all_that_a_resumed_run_needs(tiny_encoder: str) -> None:
    first, second = started(tiny_encoder), started(tiny_encoder)
    batch = first.data.tokens.batch(torch.arange(16))
    first.begin_epoch(0)
    first.loss(batch)
    first.after_step(batch)
    resume(second, first)
    losses = []
    for method in (first, second):
        torch.manual_seed(5)
        method.loss(batch)
        method.after_step(batch)
        losses.append(method.loss(batch)["contrast"])
    assert torch.equal(*losses)
