"""Pure tensor functions. B texts in a batch, N rows in the queue, k neighbours, D dimensions."""

from __future__ import annotations

import torch
from torch import Tensor


def multi_positive_nce(
    queries: Tensor, queue: Tensor, positives: Tensor, weights: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """InfoNCE with many positives per query and the whole queue in the denominator, as (alignment, uniformity).

    Their sum is L_DNA. `positives` (B, k) are queue rows and `weights` (B, k) how much each counts: DNA's filters give
    0 or 1, DOWN's ranks something between. Weights are averaged inside the sum, so every query counts the same.
    """
    logits = queries @ queue.T / temperature  # (B, N)
    uniformity = torch.logsumexp(logits, dim=1).mean()
    attraction = (weights * logits.gather(1, positives)).sum(1) / weights.sum(1)  # (B,)
    return -attraction.mean(), uniformity


def rank_weights(k: int, base: float) -> Tensor:
    """DOWN's weights: base^(−rank/k), rank 0 being the query itself. A larger base trusts only the nearest."""
    ranks = torch.arange(k, dtype=torch.float32)  # (k,)
    return base ** (-ranks / k)
