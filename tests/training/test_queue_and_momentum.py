"""The queue is addressed by text, and the momentum encoder is a moving average in closed form."""

from __future__ import annotations

import pytest
import torch
from helpers.planted import unit_tensor
from torch import nn

from subtaxa.training.feature_queue import FeatureQueue
from subtaxa.training.momentum import update_momentum


def test_write_addresses_rows_by_text_and_leaves_the_others() -> None:
    before, new = unit_tensor(6, 4, 0), unit_tensor(3, 4, 1)
    queue = FeatureQueue(before)
    queue.write(torch.tensor([4, 0, 2]), new)
    assert torch.equal(queue.rows[[4, 0, 2]], new)
    assert torch.equal(queue.rows[[1, 3, 5]], before[[1, 3, 5]])
    assert len(queue) == 6


def test_queue_holds_a_copy() -> None:
    given, new = unit_tensor(5, 4, 0), unit_tensor(5, 4, 1)
    queue = FeatureQueue(given)
    queue.refresh(new)
    assert torch.equal(given, unit_tensor(5, 4, 0))
    new.zero_()
    assert torch.equal(queue.rows, unit_tensor(5, 4, 1))


def test_queue_keeps_no_gradient() -> None:
    features = unit_tensor(5, 4).requires_grad_()
    queue = FeatureQueue(features * 2)
    assert not queue.rows.requires_grad
    queue.write(torch.tensor([1]), features[:1] * 3)
    queue.refresh(features * 4)
    assert not queue.rows.requires_grad
    assert queue.rows.grad_fn is None
    assert torch.equal(queue.rows, features.detach() * 4)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (1, 4), (20,)])
def test_refresh_refuses_another_shape(shape: tuple[int, ...]) -> None:
    queue = FeatureQueue(unit_tensor(5, 4))
    with pytest.raises(ValueError, match=r"holds \(5, 4\)"):
        queue.refresh(torch.zeros(shape))
    assert torch.equal(queue.rows, unit_tensor(5, 4))


def twins(dtype: torch.dtype = torch.float64) -> tuple[nn.Module, nn.Module]:
    """A momentum module and a query module with different weights."""
    torch.manual_seed(0)
    return nn.Linear(3, 2).to(dtype), nn.Linear(3, 2).to(dtype)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99, 0.9999])
def test_momentum_in_closed_form(alpha: float) -> None:
    """θᵐ after t updates = αᵗ θᵐ₀ + (1 − α) Σ αᵗ⁻¹⁻ⁱ θᵢ, while θ itself moves."""
    momentum, query = twins()
    start = momentum.weight.detach().clone()
    seen = []
    for step in range(7):
        with torch.no_grad():
            query.weight += 0.1 * (step + 1)
        seen.append(query.weight.detach().clone())
        update_momentum(momentum, query, alpha)
    t = len(seen)
    expected = alpha**t * start + (1 - alpha) * sum(alpha ** (t - 1 - i) * weight for i, weight in enumerate(seen))
    assert torch.allclose(momentum.weight, expected, atol=1e-12)
    assert torch.equal(query.weight, seen[-1])


def test_every_trained_weight_moves_even_if_the_momentum_copy_is_not_trained() -> None:
    momentum, query = twins()
    momentum.requires_grad_(False)
    expected = [0.9 * m + 0.1 * q for m, q in zip(momentum.parameters(), query.parameters(), strict=True)]
    update_momentum(momentum, query, 0.9)
    for found, wanted in zip(momentum.parameters(), expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-12)
        assert found.grad_fn is None


def test_frozen_weights_are_not_touched() -> None:
    momentum, query = twins()
    query.weight.requires_grad_(False)
    weight, bias = momentum.weight.detach().clone(), momentum.bias.detach().clone()
    update_momentum(momentum, query, 0.5)
    assert torch.equal(momentum.weight, weight)
    assert not torch.equal(momentum.bias, bias)


def test_all_frozen_is_no_error() -> None:
    momentum, query = twins()
    query.requires_grad_(False)
    weight = momentum.weight.detach().clone()
    update_momentum(momentum, query, 0.5)
    assert torch.equal(momentum.weight, weight)


def test_modules_that_do_not_match_are_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        update_momentum(nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2)), 0.5)
