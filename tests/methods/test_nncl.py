"""NNCL: the nearest neighbour against brute force, the symmetric loss, and the support queue."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import prepared, slow_info_nce
from helpers.planted import LargestTensor, unit_tensor
from torch.nn import functional as F

from subtaxa.methods.nncl import NNCL, nearest_other


def started(tiny_encoder: str, **changes: object) -> NNCL:
    settings, encoder, data, _ = prepared(tiny_encoder, **{**NNCL.defaults, **changes})
    method = NNCL(settings)
    method.start(encoder, data)
    method.begin_epoch(0)
    return method


@pytest.mark.parametrize("seed", range(3))
def test_swap_is_the_brute_force_argmax_without_the_own_row(seed: int) -> None:
    queue = unit_tensor(30, 6, seed)
    own = torch.randperm(30, generator=torch.Generator().manual_seed(seed))[:10]
    features = F.normalize(queue[own] + 0.1 * unit_tensor(10, 6, seed + 50), dim=1)  # Nearest to its own row.
    found = nearest_other(features, queue, own)
    for i in range(10):
        best, row = max((float(features[i] @ queue[j]), j) for j in range(30) if j != int(own[i]))
        assert torch.equal(found[i], queue[row]), best
        assert float(features[i] @ queue[own[i]]) > best  # Otherwise the exclusion of its own row would not be tested.


def test_swap_by_hand() -> None:
    """Rows at 0°, 60° and 90°: the first chooses the second, the second and the last choose each other."""
    angles = torch.deg2rad(torch.tensor([0.0, 60.0, 90.0]))
    queue = torch.stack([angles.cos(), angles.sin()], 1)
    assert torch.equal(nearest_other(queue, queue, torch.arange(3)), queue[[1, 2, 1]])


def test_swap_gives_no_gradient_and_no_large_tensor() -> None:
    features, queue = unit_tensor(16, 64).requires_grad_(), unit_tensor(5000, 64, 1)
    with LargestTensor() as watched:
        assert not nearest_other(features, queue, torch.arange(16)).requires_grad
    assert 0 < watched.cells <= 5000 * 64


def test_loss_of_two_texts_by_hand(tiny_encoder: str) -> None:
    """Two near texts, the rest far: each view's neighbour is the other text's row, so the wrong key fits better.

    Without dropout and view both keys are the rows a and b themselves: with c = a·b, −log(eᶜ / (e¹ + eᶜ)) at τ = 1.
    """
    method = started(tiny_encoder, augment="none", temperature=1.0)
    method.tower.eval()
    method.queue.rows[2:] = -method.queue.rows[:2].mean(0)  # Far from both.
    a, b = method.queue.rows[:2]
    c = float(a @ b)
    loss = method.loss(method.data.tokens.batch(torch.arange(2)))["contrastive"]
    assert loss.item() == pytest.approx(math.log(1 + math.exp(1 - c)), abs=1e-5)


@pytest.mark.parametrize("view", ["drop", "replace"])
def test_loss_is_the_slow_loop_both_ways(tiny_encoder: str, view: str) -> None:
    method = started(tiny_encoder, augment=view)
    method.tower.train()
    index = torch.tensor([3, 50, 7, 20, 11])
    batch = method.data.tokens.batch(index)
    torch.manual_seed(2)
    loss = method.loss(batch)["contrastive"]
    torch.manual_seed(2)
    views = F.normalize(method.query(method.data.tokens.batch(index.repeat(2))), dim=1)
    near = nearest_other(views, method.queue.rows, index.repeat(2))
    first, second, near_first, near_second = (t.double() for t in (views[:5], views[5:], near[:5], near[5:]))
    there, back = slow_info_nce(near_first, second, 0.07), slow_info_nce(near_second, first, 0.07)
    assert loss.item() == pytest.approx((there + back) / 2, abs=1e-4)
    assert (first - second).abs().max() > 1e-3  # Two different views.
    assert there != pytest.approx(back)


def test_queue_is_rewritten_with_the_second_view_after_the_step(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.tower.train()
    before = method.queue.rows.clone()
    torch.testing.assert_close(before, method.encoder.features(method.data.tokens), rtol=0, atol=0)
    batch = method.data.tokens.batch(torch.tensor([9, 4]))
    torch.manual_seed(2)
    method.loss(batch)
    assert torch.equal(method.queue.rows, before)  # The queue changes only after the step.
    method.after_step(batch)
    torch.manual_seed(2)
    expected = F.normalize(method.query(method.data.tokens.batch(torch.tensor([9, 4, 9, 4]))), dim=1)[2:]
    torch.testing.assert_close(method.queue.rows[[9, 4]], expected.detach(), rtol=0, atol=1e-6)
    assert (method.queue.rows != before).any(1).nonzero().squeeze(1).tolist() == [4, 9]
    method.begin_epoch(1)
    torch.testing.assert_close(method.queue.rows, before, rtol=0, atol=0)  # The weights have not changed.


def test_state_restores_the_queue(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    batch = method.data.tokens.batch(torch.arange(8))
    method.loss(batch)
    method.after_step(batch)
    other = NNCL(method.settings)
    other.start(method.encoder, method.data)
    other.load_state({name: tensor.clone() for name, tensor in method.state().items()})
    assert torch.equal(other.queue.rows, method.queue.rows)


@pytest.mark.parametrize("texts", [1, 2])
def test_small_batches(tiny_encoder: str, texts: int) -> None:
    method = started(tiny_encoder)
    loss = method.loss(method.data.tokens.batch(torch.arange(texts)))["contrastive"]
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in method.tower.parameters() if p.grad is not None)
