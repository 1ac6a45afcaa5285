"""Augmentation of a batch of tokens. Special tokens are never changed.

B texts, L tokens, M tokens after shortening, D dimensions, V tokens in the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.encoders.tokens import Batch, zero_padding


def replace_tokens(input_ids: Tensor, ordinary: Tensor, rate: float, vocabulary: Tensor) -> Tensor:
    """Replace a share of the ordinary tokens by random ones from the vocabulary (V,), as the paper does."""
    chosen = (torch.rand(input_ids.shape, device=input_ids.device) < rate) & ordinary  # (B, L)
    picks = torch.randint(len(vocabulary), input_ids.shape, device=input_ids.device)  # (B, L)
    return torch.where(chosen, vocabulary.to(input_ids.device)[picks], input_ids)


def drop_tokens(attention_mask: Tensor, ordinary: Tensor, rate: float) -> Tensor:
    """Hide a share of the ordinary tokens from attention and pooling. Cached states remain valid."""
    dropped = (torch.rand(attention_mask.shape, device=attention_mask.device) < rate) & ordinary  # (B, L)
    return attention_mask & ~dropped


def shorten(batch: Batch, rate: float, max_tokens: int) -> Batch:
    """Remove a share of the ordinary tokens, and cut texts to `max_tokens` tokens, which saves computing time.

    A text that would remain too long is first cut to a random passage. The number of removed tokens is rounded up or
    down at random. At least one ordinary token remains.
    """
    mask, ordinary = batch.attention_mask, batch.ordinary
    count, special = ordinary.sum(1), (mask & ~ordinary).sum(1)  # (B,)
    length = ((max_tokens - special).clamp(min=1) / (1 - rate)).long().clamp(min=1)  # (B,) of the passage
    first = (torch.rand(count.shape, device=count.device) * ((count - length).clamp(min=0) + 1)).long()  # (B,)
    position = ordinary.cumsum(1) - 1  # (B, L) among the ordinary tokens
    passage = ordinary & (position >= first[:, None]) & (position < (first + length)[:, None])  # (B, L)
    count = passage.sum(1)
    dropped = (rate * count + torch.rand(count.shape, device=count.device)).long()
    left = special + torch.maximum(count - dropped, count.clamp(max=1))  # (B,)
    left = torch.minimum(left, (special + 1).clamp(min=max_tokens))  # Random rounding may exceed the limit by one.
    priority = torch.rand(mask.shape, device=mask.device)  # (B, L) the tokens with the highest priority remain
    priority = priority.masked_fill(~passage, -1.0).masked_fill(mask & ~ordinary, 2.0)
    kept = torch.arange(int(left.max()), device=mask.device) < left[:, None]  # (B, M)
    chosen = priority.argsort(dim=1, descending=True)[:, : kept.shape[1]]  # (B, M)
    order = torch.where(kept, chosen, mask.shape[1]).sort(1).values.clamp(max=mask.shape[1] - 1)  # (B, M) in text order
    states = batch.states
    if states is not None:
        states = zero_padding(states.gather(1, order[..., None].expand(-1, -1, states.shape[2])), kept)  # (B, M, D)
    return batch.with_(
        input_ids=batch.input_ids.gather(1, order),
        attention_mask=kept,
        ordinary=ordinary.gather(1, order) & kept,
        states=states,
    )
