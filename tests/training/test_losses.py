"""The contrastive loss against a slow loop, its two parts, the paper's theory about them, and DOWN's weights."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.planted import LargestTensor, unit_tensor
from torch import Tensor
from torch.nn import functional as F

from subtaxa.training import losses
from subtaxa.training.losses import multi_positive_nce, rank_weights

B, N, D, K = 6, 20, 8, 4
TAU = 0.07


def case(seed: int, kind: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, queue, positives and weights in double precision."""
    rng = torch.Generator().manual_seed(seed)
    positives = torch.stack([torch.randperm(N, generator=rng)[:K] for _ in range(B)])
    weights = torch.rand(B, K, generator=rng, dtype=torch.float64)
    if kind == "0/1":
        weights = (weights < 0.5).double()
        weights[:, 0] = 1.0  # The text itself.
    queries, queue = (F.normalize(unit_tensor(n, D, s).double(), dim=1) for n, s in ((B, seed), (N, seed + 50)))
    return queries, queue, positives, weights


def slow_loss(queries: Tensor, queue: Tensor, positives: Tensor, weights: Tensor, tau: float) -> float:
    total = 0.0
    for i in range(len(queries)):
        scores = [sum(a * b for a, b in zip(queries[i].tolist(), row, strict=True)) / tau for row in queue.tolist()]
        log_denominator = math.log(sum(math.exp(s) for s in scores))
        parts = zip(positives[i].tolist(), weights[i].tolist(), strict=True)
        total -= sum(w * (scores[j] - log_denominator) for j, w in parts) / sum(weights[i].tolist())
    return total / len(queries)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["0/1", "fractional"])
@pytest.mark.parametrize("tau", [0.07, 1.0])
def test_loss_is_the_slow_loop(seed: int, kind: str, tau: float) -> None:
    given = case(seed, kind)
    alignment, uniformity = multi_positive_nce(*given, tau)
    assert float(alignment + uniformity) == pytest.approx(slow_loss(*given, tau), abs=1e-10)


def test_one_positive_is_cross_entropy() -> None:
    queries, queue, positives, _ = case(0, "0/1")
    one = F.one_hot(torch.zeros(B, dtype=torch.int64), K).double()
    expected = F.cross_entropy(queries @ queue.T / TAU, positives[:, 0])
    assert float(sum(multi_positive_nce(queries, queue, positives, one, TAU))) == pytest.approx(float(expected))


def test_parts_by_hand() -> None:
    """One query along x, a queue of x and y, both positives: similarities 1 and 0, τ = 1/2, so logits 2 and 0."""
    rows = torch.eye(2, dtype=torch.float64)
    alignment, uniformity = multi_positive_nce(rows[:1], rows, torch.tensor([[0, 1]]), torch.ones(1, 2).double(), 0.5)
    assert float(alignment) == pytest.approx(-1.0)
    assert float(uniformity) == pytest.approx(math.log(math.exp(2) + 1))


def test_scaled_weights_change_nothing() -> None:
    """Weights are normalised per query, so every query counts the same."""
    queries, queue, positives, weights = case(1, "fractional")
    scale = torch.arange(1, B + 1).double()[:, None]
    once, scaled = (
        multi_positive_nce(queries, queue, positives, weights, TAU),
        multi_positive_nce(queries, queue, positives, weights * scale, TAU),
    )
    assert float(once[0]) == pytest.approx(float(scaled[0]))
    assert torch.equal(once[1], scaled[1])


@pytest.mark.parametrize("tau", [0.001, 0.07, 10.0])
def test_gradient_is_finite(tau: float) -> None:
    queries, queue, positives, weights = (t.float() if t.is_floating_point() else t for t in case(2, "0/1"))
    queries = torch.cat([queries[:-1], queue[:1]]).requires_grad_()  # One query equals the row it is compared with.
    sum(multi_positive_nce(queries, queue, positives, weights, tau)).backward()
    assert queries.grad is not None
    assert torch.isfinite(queries.grad).all()
    assert queries.grad.abs().sum() > 0


def centre(queue: Tensor, positives: Tensor, weights: Tensor) -> Tensor:
    """μ of the paper: the mean of each query's positives (B, D)."""
    return (weights[..., None] * queue[positives]).sum(1) / weights.sum(1, keepdim=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["0/1", "fractional"])
def test_alignment_is_the_distance_to_the_centre_of_the_neighbours(seed: int, kind: str) -> None:
    """The paper's equation: alignment = 1/(2τ) mean(‖q − μ‖² − ‖q‖² − ‖μ‖²), with ‖q‖ = 1."""
    queries, queue, positives, weights = case(seed, kind)
    mu = centre(queue, positives, weights)
    alignment = multi_positive_nce(queries, queue, positives, weights, TAU)[0]
    squares = ((queries - mu) ** 2).sum(1) - 1.0 - (mu**2).sum(1)
    assert float(alignment) == pytest.approx(float(squares.mean()) / (2 * TAU), abs=1e-10)


def test_alignment_minus_clustering_loss_is_constant_in_the_queries() -> None:
    _, queue, positives, weights = case(0, "0/1")
    mu = centre(queue, positives, weights)
    differences, alignments = [], []
    for seed in range(5):
        queries = F.normalize(unit_tensor(B, D, 200 + seed).double(), dim=1)
        alignments.append(float(multi_positive_nce(queries, queue, positives, weights, TAU)[0]))
        differences.append(alignments[-1] - float(((queries - mu) ** 2).sum(1).mean()) / (2 * TAU))
    assert differences == pytest.approx([differences[0]] * 5, abs=1e-9)
    assert max(alignments) - min(alignments) > 0.1  # While each side changes.


def test_alignment_and_clustering_loss_have_the_same_gradient_on_the_sphere() -> None:
    queries, queue, positives, weights = case(1, "0/1")
    queries.requires_grad_()
    mu = centre(queue, positives, weights)
    (align,) = torch.autograd.grad(multi_positive_nce(queries, queue, positives, weights, TAU)[0], queries)
    (pull,) = torch.autograd.grad(((queries - mu) ** 2).sum(1).mean() / (2 * TAU), queries)

    def tangent(gradient: Tensor) -> Tensor:
        return gradient - (gradient * queries).sum(1, keepdim=True) * queries

    assert torch.allclose(tangent(align), tangent(pull), atol=1e-10)
    assert tangent(align).abs().max() > 0.01


def test_no_tensor_of_batch_by_queue_by_dimensions() -> None:
    """64 × 20,000 × 384 floats would be 2 GB. The largest tensor is the queue itself."""
    batch, rows, dim, k = 64, 20_000, 384, 120
    queries = F.normalize(torch.ones(batch, dim), dim=1).requires_grad_()
    queue = F.normalize(torch.ones(rows, dim), dim=1)
    positives = torch.arange(k).repeat(batch, 1)
    with LargestTensor() as watched:
        sum(multi_positive_nce(queries, queue, positives, torch.ones(batch, k), TAU)).backward()
    assert 0 < watched.cells <= rows * dim
    assert queries.grad is not None
    assert torch.isfinite(queries.grad).all()


@pytest.mark.parametrize("cells", [1, 7 * B, N * B - 1])
@pytest.mark.parametrize("kind", ["0/1", "fractional"])
def test_a_long_queue_in_pieces_gives_the_same(cells: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients, with one row at a time, with some and with nearly all."""
    queries, queue, positives, weights = case(0, kind)

    def found() -> tuple[float, float, Tensor]:
        leaf = queries.clone().requires_grad_()
        alignment, uniformity = multi_positive_nce(leaf, queue, positives, weights, TAU)
        (alignment + 2 * uniformity).backward()
        assert leaf.grad is not None
        return float(alignment.detach()), float(uniformity.detach()), leaf.grad

    whole = found()
    monkeypatch.setattr(losses, "CELLS", cells)
    pieces = found()
    assert pieces[:2] == pytest.approx(whole[:2], abs=1e-10)
    assert torch.allclose(pieces[2], whole[2], atol=1e-10)


def test_a_long_queue_is_never_compared_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "CELLS", 300)
    queries, queue = unit_tensor(B, D, 0).requires_grad_(), unit_tensor(5000, D, 1)
    with LargestTensor() as watched:
        sum(multi_positive_nce(queries, queue, torch.zeros(B, K).long(), torch.ones(B, K), TAU)).backward()
    assert 0 < watched.cells <= D * 300  # Out of 5000·B products.


CPU = torch.device("cpu")


def test_rank_weights_by_hand() -> None:
    assert rank_weights(3, 16.0, CPU, k=2).tolist() == pytest.approx([1.0, 0.25, 0.0625])
    assert rank_weights(4, 16.0, CPU).tolist() == pytest.approx([1.0, 0.5, 0.25, 0.125])
    assert rank_weights(1, 150.0, CPU).tolist() == [1.0]
    assert rank_weights(3, 1.0, CPU).tolist() == [1.0, 1.0, 1.0]


def test_a_larger_base_trusts_only_the_nearest() -> None:
    sharp, flat = rank_weights(10, 150.0, CPU), rank_weights(10, 2.0, CPU)
    assert sharp[0] == flat[0] == 1.0
    assert (sharp[1:] < flat[1:]).all()
    assert (sharp.diff() < 0).all()
