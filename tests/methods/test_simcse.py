"""In-batch InfoNCE against a slow loop and by hand; SimCSE's two passes, its head and its coarse part."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import slow_info_nce, started
from helpers.planted import unit_tensor
from torch.nn import functional as F

from subtaxa.methods import settings_for
from subtaxa.methods.base import coarse_loss
from subtaxa.training.losses import info_nce


@pytest.mark.parametrize("tau", [0.05, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_info_nce_is_the_slow_loop(rows: int, tau: float) -> None:
    queries, keys = unit_tensor(rows, 8, 1).double(), unit_tensor(rows, 8, 2).double()
    assert float(info_nce(queries, keys, tau)) == pytest.approx(slow_info_nce(queries, keys, tau), abs=1e-10)


def test_info_nce_of_two_texts_by_hand() -> None:
    """Queries x and y, keys x and x, τ = 1/2: logits (2, 2) and (0, 0), so log 2 for each; keys x and y give less."""
    x, y = torch.eye(2).double()
    assert float(info_nce(torch.stack([x, y]), torch.stack([x, x]), 0.5)) == pytest.approx(math.log(2))
    assert float(info_nce(torch.stack([x, y]), torch.stack([x, y]), 0.5)) == pytest.approx(math.log(1 + math.exp(-2)))


def test_info_nce_is_not_symmetric_in_queries_and_keys() -> None:
    queries, keys = unit_tensor(5, 8, 1), unit_tensor(5, 8, 2)
    assert float(info_nce(queries, keys, 0.1)) != pytest.approx(float(info_nce(keys, queries, 0.1)))


@pytest.mark.parametrize("layers", ["all", 2])
def test_the_two_passes_differ_by_dropout_alone(tiny_encoder: str, layers: int | str) -> None:
    method = started(tiny_encoder, trained_layers=layers)
    batch = method.data.tokens.batch(torch.arange(8))
    first, second = method.both(batch).chunk(2)
    assert (first - second).abs().amax(1).min() > 1e-3  # For each text, because the tiny encoder has dropout.
    method.tower.eval()
    first, second = method.both(batch).chunk(2)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-6)


def test_the_loss_compares_the_heads_outputs(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    batch = method.data.tokens.batch(torch.arange(6))
    torch.manual_seed(3)
    parts = method.loss(batch)
    torch.manual_seed(3)
    dense = method.projection[0]
    heads = F.normalize(torch.tanh(method.both(batch) @ dense.weight.T + dense.bias), dim=1).double()
    assert list(parts) == ["contrastive"]
    assert parts["contrastive"].item() == pytest.approx(slow_info_nce(heads[:6], heads[6:], 0.05), abs=1e-4)


def test_coarse_part_is_on_the_first_pass(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "simcse+ce", coarse_weight=3.0)
    batch = method.data.tokens.batch(torch.arange(6))
    torch.manual_seed(3)
    parts = method.loss(batch)
    torch.manual_seed(3)
    expected = coarse_loss(method.head, method.both(batch)[:6], method.data, batch)
    assert list(parts) == ["contrastive", "coarse"]
    assert parts["coarse"].item() == pytest.approx(3 * expected.item(), rel=1e-5)


@pytest.mark.parametrize("name", ["simcse", "simcse+ce"])
def test_a_batch_of_one_text(tiny_encoder: str, name: str) -> None:
    method = started(tiny_encoder, name)
    parts = method.loss(method.data.tokens.batch(torch.tensor([4])))
    assert parts["contrastive"].item() == pytest.approx(0.0, abs=1e-6)  # There are no negatives.
    assert torch.isfinite(sum(parts.values()))


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_own_settings_stand_in_every_preset(preset: str) -> None:
    plain, coarse = (settings_for(preset, method=name) for name in ("simcse", "simcse+ce"))
    assert (plain.augment, plain.temperature, plain.coarse_weight, plain.pretrain_epochs) == ("none", 0.05, 0.0, 0)
    assert coarse == plain.with_(method="simcse+ce", coarse_weight=1.0)
