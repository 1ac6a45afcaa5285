"""Augmented views of a batch of tokens; special tokens are never touched. B texts, L tokens."""

from __future__ import annotations

import torch
from torch import Tensor


def replace_tokens(input_ids: Tensor, ordinary: Tensor, rate: float, vocabulary: Tensor) -> Tensor:
    """The paper's view: a share of the ordinary tokens becomes random vocabulary tokens."""
    chosen = (torch.rand(input_ids.shape, device=input_ids.device) < rate) & ordinary  # (B, L)
    picks = torch.randint(len(vocabulary), input_ids.shape, device=input_ids.device)  # (B, L)
    return torch.where(chosen, vocabulary[picks], input_ids)


def drop_tokens(attention_mask: Tensor, ordinary: Tensor, rate: float) -> Tensor:
    """Hides a share of the ordinary tokens from attention and pooling; works on cached hidden states too."""
    dropped = (torch.rand(attention_mask.shape, device=attention_mask.device) < rate) & ordinary  # (B, L)
    return attention_mask & ~dropped
