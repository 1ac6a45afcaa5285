"""The loss functions of all methods, as pure tensor functions.

B texts in a batch, N rows in the queue, k neighbours, D dimensions.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# The largest number of logits in memory at once, which is 64 MB of float32.
CELLS = 2**24


def multi_positive_nce(
    queries: Tensor,
    queue: Tensor,
    positives: Tensor,
    weights: Tensor,
    temperature: float,
    denominator: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """InfoNCE with many positives per query and the whole queue in the denominator, as (alignment, uniformity).

    The sum of both is L_DNA. `positives` (B, k) are rows of the queue, and `weights` (B, k) are their weights: 0 or 1
    with DNA's filters, and between 0 and 1 with DOWN's ranks. The weights of a query are normalised, so every query
    counts the same. With a very long queue, the logits are computed in parts. `denominator` is a sample of the queue's
    rows that replaces the queue in the denominator.
    """
    if denominator is None and len(queries) * len(queue) <= CELLS:
        return weighted_nce(queries @ queue.T / temperature, positives, weights)
    queries = queries / temperature
    near = torch.einsum("bd,bkd->bk", queries, queue[positives])  # (B, k)
    denominator = queue if denominator is None else denominator
    return _alignment(near, weights), _log_sum(queries, denominator).mean() + math.log(len(queue) / len(denominator))


def _alignment(near: Tensor, weights: Tensor) -> Tensor:
    """The alignment part of the loss, from the logits of the positives (B, k)."""
    return -((weights * near).sum(1) / weights.sum(1)).mean()


def _log_sum(queries: Tensor, queue: Tensor) -> Tensor:
    """log Σ exp(q·m) over the rows m of the queue (B,), in parts whose logits the backward pass recomputes."""
    if len(queries) * len(queue) <= CELLS:
        return torch.logsumexp(queries @ queue.T, dim=1)
    parts = [
        checkpoint(lambda q, rows: torch.logsumexp(q @ rows.T, dim=1), queries, rows, use_reentrant=False)
        for rows in queue.split(max(1, CELLS // len(queries)))
    ]
    return torch.logsumexp(torch.stack(parts), dim=0)


def weighted_nce(
    logits: Tensor, positives: Tensor, weights: Tensor, penalty: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """As `multi_positive_nce`, from logits (B, N). STAR's `penalty` (B, N) is the logarithm of a factor on each term of
    the denominator."""
    uniformity = torch.logsumexp(logits if penalty is None else logits + penalty, dim=1).mean()
    return _alignment(logits.gather(1, positives), weights), uniformity


def rank_weights(n: int, base: float, device: torch.device, k: int | None = None) -> Tensor:
    """DOWN's weights base^(−rank/k) of n ranked rows (n,), rank 0 being the query itself; k is n unless given.

    A larger base relies on the nearest neighbours only.
    """
    ranks = torch.arange(n, dtype=torch.float32, device=device)  # (n,)
    return base ** (-ranks / (n if k is None else k))


def info_nce(queries: Tensor, keys: Tensor, temperature: float) -> Tensor:
    """InfoNCE inside a batch: row i of the unit keys (B, D) is query i's positive, the other rows its negatives."""
    logits = queries @ keys.T / temperature  # (B, B)
    return F.cross_entropy(logits, torch.arange(len(keys), device=keys.device))


def multi_positive_in_batch(first: Tensor, second: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """The supervised contrastive loss over two views, unit rows (B, D) each: every row against the 2B − 1 others.

    `positive` (B, B) says whether the views of text i and text j are positives. Its diagonal must be true.
    """
    rows = torch.cat([first, second])  # (2B, D)
    itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)  # (2B, 2B)
    logits = (rows @ rows.T / temperature).masked_fill(itself, -torch.inf)
    log_share = logits.log_softmax(1).masked_fill(itself, 0.0)  # (2B, 2B)
    others = positive.repeat(2, 2) & ~itself
    return -((log_share * others).sum(1) / others.sum(1)).mean()


def symmetric_kl(first: Tensor, second: Tensor) -> Tensor:
    """The mean of both KL divergences (B, N) between diagonal Gaussians, given as M means and then M variances.

    For N(m, u) and N(n, v) the logarithms cancel: ¼ Σ [(u + m²)/v + (v + n²)/u − 2mn/u − 2mn/v + m²/u + n²/v − 2].
    The first four terms of all pairs are one matrix product. Rounding may fall below 0, so the result is clamped.
    """
    m, u = first.chunk(2, dim=1)  # (B, M) each
    n, v = second.chunk(2, dim=1)  # (N, M) each
    left = torch.cat([u + m**2, 1 / u, m / u, m], dim=1)  # (B, 4M)
    right = torch.cat([1 / v, v + n**2, -2 * n, -2 * n / v], dim=1)  # (N, 4M)
    alone = (m**2 / u).sum(1)[:, None] + (n**2 / v).sum(1)  # (B, N)
    return ((left @ right.T + alone) / 4 - m.shape[1] / 2).clamp(min=0.0)
