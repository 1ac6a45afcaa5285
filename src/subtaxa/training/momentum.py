"""The momentum encoder's update: a moving average of the query encoder's weights."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def update_momentum(momentum: nn.Module, query: nn.Module, alpha: float) -> None:
    """θᵐ ← α θᵐ + (1 − α) θ for every trained weight; frozen weights are the same in both."""
    pairs = [(m, q) for m, q in zip(momentum.parameters(), query.parameters(), strict=True) if q.requires_grad]
    if pairs:
        targets, sources = zip(*pairs, strict=True)
        torch._foreach_lerp_(list(targets), list(sources), 1.0 - alpha)
