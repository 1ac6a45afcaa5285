"""STAR: the divergence of Gaussians against PyTorch's, the factor B^d by hand, the whole loss against a loop."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.methods import prepared
from helpers.planted import LargestTensor, unit_tensor
from torch import Tensor
from torch.distributions import Independent, Normal, kl_divergence

from subtaxa.methods import method_class
from subtaxa.methods.base import TrainingData
from subtaxa.methods.star import MIN_VARIANCE, GaussianHead, Penalty, StarDNA
from subtaxa.training.losses import multi_positive_nce, symmetric_kl, weighted_nce


def gaussians(n: int, dimensions: int, seed: int, spread: float = 1.0) -> Tensor:
    """Random means and variances, concatenated (n, 2M), in double precision."""
    rng = torch.Generator().manual_seed(seed)
    means, logs = torch.randn(2, n, dimensions, generator=rng, dtype=torch.float64) * spread
    return torch.cat([means, logs.exp()], dim=1)


def as_distribution(row: Tensor) -> Independent:
    mean, variance = row.chunk(2)
    return Independent(Normal(mean, variance.sqrt()), 1)


def started(tiny_encoder: str, name: str, **changes: object) -> StarDNA:
    settings, encoder, data, _ = prepared(tiny_encoder, **changes)
    method = method_class(name)(settings)
    assert isinstance(method, StarDNA)
    method.start(encoder, data)
    method.begin_epoch(0)
    return method


@pytest.mark.parametrize("dimensions", [1, 7, 128])
def test_divergence_is_the_mean_of_both_kl_divergences(dimensions: int) -> None:
    first, second = gaussians(4, dimensions, 0), gaussians(6, dimensions, 1)
    found = symmetric_kl(first, second)
    for i, p in enumerate(map(as_distribution, first)):
        for j, q in enumerate(map(as_distribution, second)):
            wanted = (kl_divergence(p, q) + kl_divergence(q, p)) / 2
            assert float(found[i, j]) == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ([0.0, 1.0], [1.0, 1.0], 0.5),  # ½(m − n)² in each direction
        ([0.0, 1.0], [0.0, 4.0], 9 / 16),  # ½·½(¼ + 4 − 2)
        ([1.0, 2.0], [3.0, 4.0], 7 / 8),  # ¼(2/4 + 4/2 + (3 − 1)²(½ + ¼) − 2)
        ([2.0, 3.0], [2.0, 3.0], 0.0),
    ],
)
def test_divergence_by_hand(first: list[float], second: list[float], wanted: float) -> None:
    assert float(symmetric_kl(torch.tensor([first]), torch.tensor([second]))) == pytest.approx(wanted, abs=1e-6)


def test_divergence_is_symmetric_and_never_negative_in_single_precision() -> None:
    rows = gaussians(200, 128, 0, spread=0.3).float()
    found = symmetric_kl(rows, rows)
    assert (found >= 0).all()
    assert (found.diag() < 1e-3).all()
    assert (found.argmin(1) == torch.arange(200)).all()
    torch.testing.assert_close(found, found.T, rtol=1e-4, atol=1e-3)


def test_no_tensor_of_batch_by_queue_by_dimensions() -> None:
    batch, rows, dimensions = 64, 1_000, 128
    queries = gaussians(batch, dimensions, 0).float().requires_grad_()
    queue = gaussians(rows, dimensions, 1).float()
    with LargestTensor() as watched:
        symmetric_kl(queries, queue).sum().backward()
    assert 0 < watched.cells <= rows * 4 * dimensions


def test_no_divergence_leaves_the_loss_of_down() -> None:
    queries, queue = unit_tensor(5, 8, 0), unit_tensor(12, 8, 1)
    positives, weights = torch.arange(15).reshape(5, 3) % 12, torch.rand(5, 3) + 0.1
    penalised = weighted_nce(queries @ queue.T / 0.07, positives, weights, Penalty()(torch.zeros(5, 12)))
    for part, wanted in zip(penalised, multi_positive_nce(queries, queue, positives, weights, 0.07), strict=True):
        assert torch.equal(part, wanted)


def test_the_factor_in_the_denominator_by_hand() -> None:
    """Logits 2 and 0, d 0 and 1, B 10: the denominator is e² + 10; the logits of the positives do not change."""
    logits, d = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    alignment, uniformity = weighted_nce(logits, torch.tensor([[0]]), torch.ones(1, 1), Penalty()(d))
    assert float(alignment) == -2.0
    assert float(uniformity.detach()) == pytest.approx(math.log(math.exp(2) + 10))


@pytest.mark.parametrize("base", [-5.0, 0.0, 1.0])
def test_base_stays_above_one(base: float) -> None:
    penalty = Penalty()
    assert penalty(torch.tensor(2.0)).item() == pytest.approx(2 * math.log(10))
    with torch.no_grad():
        penalty.base.fill_(base)
    assert penalty(torch.tensor(1.0)).item() > 0


def test_gaussians_start_close_together_and_variances_stay_away_from_zero() -> None:
    torch.manual_seed(0)
    for width in (32, 384, 768):
        head, rows = GaussianHead(width), unit_tensor(50, width)
        assert symmetric_kl(head(rows), head(rows)).max() < 0.2  # so B^d < 1.6
    with torch.no_grad():
        head.linear.weight.fill_(-100.0)
    assert head(rows).shape == (50, 256)
    assert head(rows)[:, 128:].min() >= MIN_VARIANCE


@pytest.mark.parametrize("name", ["star", "star-dna"])
def test_loss_is_the_slow_loop(tiny_encoder: str, name: str) -> None:
    method = started(tiny_encoder, name, augment="none", coarse_weight=1.0, temperature=0.1)
    method.gaussians.refresh(gaussians(len(method.data), 128, 3, spread=0.05).float())
    index = torch.tensor([5, 2, 9])
    method.tower.eval()
    queries = method.encoder.features(method.data.tokens)[index]
    of_queries, base = method.gaussian(queries), 10.0
    alignment = uniformity = divergence = 0.0
    for row, i in enumerate(index.tolist()):
        p = as_distribution(of_queries[row].detach())
        others = [as_distribution(g) for g in method.gaussians.rows]
        d = [float(kl_divergence(p, q) + kl_divergence(q, p)) / 2 for q in others]
        cosine = [float(queries[row] @ key) / 0.1 for key in method.queue.rows]
        pairs = list(zip(method.positives[i].tolist(), method.weights[i].tolist(), strict=True))
        total = sum(w for _, w in pairs)
        alignment -= sum(w * cosine[j] for j, w in pairs) / total / len(index)
        uniformity += math.log(sum(base**far * math.exp(c) for far, c in zip(d, cosine, strict=True))) / len(index)
        by_d = math.log(sum(math.exp(-far / 0.1) for far in d))
        divergence -= 0.05 * sum(w * (-d[j] / 0.1 - by_d) for j, w in pairs) / total / len(index)
    parts = {name: part.detach() for name, part in method.loss(method.data.tokens.batch(index)).items()}
    assert list(parts) == ["alignment", "uniformity", "divergence", "coarse"]
    assert float(parts["alignment"]) == pytest.approx(alignment, rel=1e-4)
    assert float(parts["uniformity"]) == pytest.approx(uniformity, rel=1e-4)
    assert float(parts["divergence"]) == pytest.approx(divergence, rel=1e-3)
    assert divergence > 0.01


def test_loss_stays_finite_when_the_gaussians_lie_far_apart(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "star")
    method.gaussians.refresh(gaussians(len(method.data), 128, 3, spread=3.0).float())
    loss = torch.stack(list(method.loss(method.data.tokens.batch(torch.arange(8))).values())).sum()
    loss.backward()
    for module in method.modules().values():
        assert all(torch.isfinite(p.grad).all() for p in module.parameters() if p.grad is not None)
    assert method.penalty.base.grad is not None
    assert method.gaussian.linear.weight.grad is not None
    assert method.penalty.base.grad.abs() > 0
    assert method.gaussian.linear.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(("name", "like"), [("star", "down"), ("star-dna", "dna")])
def test_the_neighbours_are_those_of_the_method_below(tiny_encoder: str, name: str, like: str) -> None:
    method = started(tiny_encoder, name)
    settings, encoder, data, _ = prepared(tiny_encoder)
    other = method_class(like)(settings)
    other.start(encoder, data)
    other.begin_epoch(0)
    assert torch.equal(method.positives, other.positives)
    assert torch.equal(method.weights, other.weights)
    assert method_class(name).pretraining == method_class(like).pretraining


def test_gaussians_follow_the_queue_through_the_momentum_head(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "star", momentum=0.5)
    torch.testing.assert_close(
        method.gaussians.rows, method.gaussian(method.queue.rows).detach()
    )  # Their initial values.
    before, weight = method.gaussians.rows.clone(), method.gaussian.linear.weight.detach().clone()
    with torch.no_grad():
        method.gaussian.linear.weight.add_(1.0)
    method.after_step(method.data.tokens.batch(torch.tensor([3, 7])))
    torch.testing.assert_close(method.momentum_gaussian.linear.weight, weight + 0.5)
    expected = method.momentum_gaussian(method.queue.rows[[3, 7]])
    torch.testing.assert_close(method.gaussians.rows[[3, 7]], expected)
    assert not torch.allclose(method.gaussians.rows[[3, 7]], before[[3, 7]])
    rest = [i for i in range(len(method.data)) if i not in (3, 7)]
    assert torch.equal(method.gaussians.rows[rest], before[rest])


def test_state_takes_the_gaussians_along(tiny_encoder: str) -> None:
    method, other = started(tiny_encoder, "star"), started(tiny_encoder, "star")
    method.gaussians.rows.add_(1.0)
    assert not torch.equal(other.gaussians.rows, method.gaussians.rows)
    other.load_state(method.state())
    assert torch.equal(other.gaussians.rows, method.gaussians.rows)
    assert torch.equal(other.queue.rows, method.queue.rows)


@pytest.mark.parametrize("name", ["star", "star-dna", "dna-as-released", "bert+ce+mlm"])
@pytest.mark.parametrize("size", [1, 2])
def test_smallest_batches(tiny_encoder: str, name: str, size: int) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder)
    labels = data.labels.clone()
    labels[0] = data.n_labels  # A label with one text.
    method = method_class(name)(settings)
    method.start(encoder, TrainingData(data.tokens, labels, data.n_labels + 1, data.n_categories))
    method.begin_epoch(0)
    batch = data.tokens.batch(torch.arange(size))
    loss = torch.stack(list(method.loss(batch).values())).sum()
    loss.backward()
    method.after_step(batch)
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in encoder.tower.parameters() if p.grad is not None)
