"""CLNN: which pairs of a batch are positives, the supervised contrastive loss, and when neighbours are retrieved."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import prepared
from helpers.planted import unit_tensor
from torch import Tensor
from torch.nn import functional as F

from subtaxa.methods import clnn, method_class, settings_for
from subtaxa.methods.clnn import CLNN, REFRESH, drawn, listed
from subtaxa.training.losses import multi_positive_in_batch


def started(tiny_encoder: str, **changes: object) -> CLNN:
    settings, encoder, data, _ = prepared(tiny_encoder, **changes)
    method = CLNN(settings)
    method.start(encoder, data)
    return method


def slow_loss(first: Tensor, second: Tensor, positive: Tensor, tau: float) -> float:
    """Every row against all others; rows i and i + B belong to text i."""
    rows, n = torch.cat([first, second]).tolist(), len(first)
    total = 0.0
    for i, row in enumerate(rows):
        scores = {
            j: sum(a * b for a, b in zip(row, other, strict=True)) / tau for j, other in enumerate(rows) if j != i
        }
        log_denominator = math.log(sum(math.exp(s) for s in scores.values()))
        wanted = [s for j, s in scores.items() if positive[i % n, j % n]]
        total -= sum(s - log_denominator for s in wanted) / len(wanted)
    return total / len(rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 5, 20])
def test_positive_mask_is_the_slow_loop(seed: int, k: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    lists = torch.stack([torch.randperm(20, generator=rng)[:k] for _ in range(20)]).sort(1).values
    index = torch.randperm(20, generator=rng)[:8]
    mask = listed(lists[index], index)
    for i in range(8):
        for j in range(8):
            assert bool(mask[i, j]) == (int(index[j]) in lists[int(index[i])].tolist())


def test_positive_mask_by_hand() -> None:
    """Text 0 lists 2, but text 2 does not list 0, so the pair is positive for text 0 only. No list of 0 reaches 9."""
    lists = torch.tensor([[0, 1, 2], [1, 2, 3], [2, 3, 9]])
    assert listed(lists, torch.tensor([0, 2, 9])).int().tolist() == [[1, 1, 0], [0, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize("tau", [0.07, 1.0])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_loss_is_the_slow_loop(n: int, tau: float) -> None:
    first, second = unit_tensor(n, 8, 1).double(), unit_tensor(n, 8, 2).double()
    positive = (torch.rand(n, n, generator=torch.Generator().manual_seed(n)) < 0.3) | torch.eye(n, dtype=torch.bool)
    expected = slow_loss(first, second, positive, tau)
    assert float(multi_positive_in_batch(first, second, positive, tau)) == pytest.approx(expected, abs=1e-10)


def test_loss_of_two_texts_by_hand() -> None:
    """Both views of text 0 are x, of text 1 y, τ = 1: each row sees one 1 and two 0 among the others."""
    rows, alone, together = torch.eye(2).double(), torch.eye(2).bool(), torch.ones(2, 2).bool()
    log_denominator = math.log(math.e + 2)
    assert float(multi_positive_in_batch(rows, rows, alone, 1.0)) == pytest.approx(log_denominator - 1)
    assert float(multi_positive_in_batch(rows, rows, together, 1.0)) == pytest.approx(log_denominator - 1 / 3)


@pytest.mark.parametrize("tau", [0.001, 0.07])
def test_gradient_is_finite(tau: float) -> None:
    first = unit_tensor(4, 8, 1, duplicates=2).requires_grad_()
    multi_positive_in_batch(first, unit_tensor(4, 8, 2), torch.eye(4).bool(), tau).backward()
    assert first.grad is not None
    assert torch.isfinite(first.grad).all()
    assert first.grad.abs().sum() > 0


def test_every_neighbour_is_drawn_about_as_often() -> None:
    torch.manual_seed(0)
    lists = torch.tensor([[3, 5, 8]]).repeat(3000, 1)
    values, counts = drawn(lists).unique(return_counts=True)
    assert values.tolist() == [3, 5, 8]
    assert (counts - 1000).abs().max() < 120
    assert drawn(torch.tensor([[4], [6]])).tolist() == [4, 6]


def test_lists_are_the_nearest_texts_and_the_text_itself(tiny_encoder: str) -> None:
    method = started(tiny_encoder, neighbours=7)
    method.begin_epoch(0)
    features = method.encoder.features(method.data.tokens)
    for i in (0, 31, 99):
        nearest = sorted((j for j in range(len(features)) if j != i), key=lambda j: -float(features[i] @ features[j]))
        assert method.lists[i].tolist() == sorted([i, *nearest[:7]])


def test_neighbours_are_sought_every_five_epochs(tiny_encoder: str) -> None:
    method = started(tiny_encoder, epochs=10)
    method.begin_epoch(0)
    first = method.lists
    with torch.no_grad():
        for parameter in method.tower.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    for epoch in range(1, REFRESH):
        method.begin_epoch(epoch)
        assert method.lists is first
    method.begin_epoch(REFRESH)
    assert not torch.equal(method.lists, first)


@pytest.mark.parametrize(("epochs", "expected"), [(1, [0]), (2, [0, 1]), (4, [0, 2]), (5, [0, 3]), (12, [0, 5, 10])])
def test_a_short_training_seeks_its_neighbours_twice_too(
    tiny_encoder: str, epochs: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sought: list[int] = []
    method = started(tiny_encoder, epochs=epochs)
    retrieve = clnn.retrieve
    monkeypatch.setattr(clnn, "retrieve", lambda *given: sought.append(epoch) or retrieve(*given))
    for epoch in range(epochs):
        method.begin_epoch(epoch)
    assert sought == expected


@pytest.mark.parametrize("view", ["drop", "replace", "none"])
def test_loss_is_the_heart_on_texts_and_their_drawn_neighbours(tiny_encoder: str, view: str) -> None:
    method = started(tiny_encoder, augment=view)
    method.begin_epoch(0)
    method.tower.train()
    index = torch.arange(10, 40, 2)
    torch.manual_seed(4)
    loss = method.loss(method.data.tokens.batch(index))["contrastive"]
    torch.manual_seed(4)
    both = torch.cat([index, drawn(method.lists[index])])
    features = F.normalize(method.projection(method.query(method.data.tokens.batch(both))), dim=1).double()
    members = [set(row) for row in method.lists[index].tolist()]
    positive = torch.tensor([[j in members[i] for j in index.tolist()] for i in range(len(index))])
    assert len(index) < positive.sum() < len(index) ** 2
    expected = slow_loss(features[: len(index)], features[len(index) :], positive, method.settings.temperature)
    assert loss.item() == pytest.approx(expected, abs=1e-4)


def test_state_restores_the_lists(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    method.begin_epoch(0)
    other = CLNN(method.settings)
    other.start(method.encoder, method.data)
    other.load_state(method.state())
    assert torch.equal(other.lists, method.lists)
    assert other.lists.dtype == torch.int64


@pytest.mark.parametrize("texts", [1, 2])
def test_small_batches_and_more_neighbours_than_texts(tiny_encoder: str, texts: int) -> None:
    method = started(tiny_encoder, neighbours=5000)
    method.begin_epoch(0)
    assert method.lists.shape == (len(method.data), len(method.data))
    loss = method.loss(method.data.tokens.batch(torch.arange(texts)))["contrastive"]
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in method.tower.parameters() if p.grad is not None)


def test_own_settings_and_pretraining() -> None:
    settings = settings_for("default", method="clnn")
    assert (settings.neighbours, settings.temperature) == (50, 0.07)
    assert method_class(CLNN.pretraining) is not method_class("bert+ce")
