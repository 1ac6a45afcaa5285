"""Augmented views of a batch of tokens; special tokens are never touched. B texts, L tokens, M of them left."""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.encoders.tokens import Batch


def replace_tokens(input_ids: Tensor, ordinary: Tensor, rate: float, vocabulary: Tensor) -> Tensor:
    """The paper's view: a share of the ordinary tokens becomes random vocabulary tokens."""
    chosen = (torch.rand(input_ids.shape, device=input_ids.device) < rate) & ordinary  # (B, L)
    picks = torch.randint(len(vocabulary), input_ids.shape, device=input_ids.device)  # (B, L)
    return torch.where(chosen, vocabulary[picks], input_ids)


def drop_tokens(attention_mask: Tensor, ordinary: Tensor, rate: float) -> Tensor:
    """Hides a share of the ordinary tokens from attention and pooling; works on cached hidden states too."""
    dropped = (torch.rand(attention_mask.shape, device=attention_mask.device) < rate) & ordinary  # (B, L)
    return attention_mask & ~dropped


def shorten(batch: Batch, rate: float, most: int) -> Batch:
    """The texts without a share of their ordinary tokens, and no longer than `most` tokens: less to compute.

    A text that is too long is first cut to a random passage of the length that will lose the share. The number of
    tokens left out is rounded at random, and at least one ordinary token stays.
    """
    mask, ordinary = batch.attention_mask, batch.ordinary
    count, special = ordinary.sum(1), (mask & ~ordinary).sum(1)  # (B,)
    room = ((most - special).clamp(min=1) / (1 - rate)).long().clamp(min=1)  # (B,) ordinary tokens of the passage
    first = (torch.rand(count.shape, device=count.device) * ((count - room).clamp(min=0) + 1)).long()  # (B,)
    place = ordinary.cumsum(1) - 1  # (B, L) which ordinary token it is
    passage = ordinary & (place >= first[:, None]) & (place < (first + room)[:, None])  # (B, L)
    count = passage.sum(1)
    dropped = (rate * count + torch.rand(count.shape, device=count.device)).long()
    left = special + torch.maximum(count - dropped, count.clamp(max=1))  # (B,)
    left = torch.minimum(left, (special + 1).clamp(min=most))  # rounding could have left one too many
    urge = torch.rand(mask.shape, device=mask.device)  # (B, L) the smallest of the passage leave
    urge = urge.masked_fill(~passage, -1.0).masked_fill(mask & ~ordinary, 2.0)
    kept = torch.arange(int(left.max()), device=mask.device) < left[:, None]  # (B, M)
    chosen = urge.argsort(dim=1, descending=True)[:, : kept.shape[1]]  # (B, M)
    order = torch.where(kept, chosen, mask.shape[1]).sort(1).values.clamp(max=mask.shape[1] - 1)  # (B, M) as they stood
    states = batch.states
    if states is not None:
        states = states.gather(1, order[..., None].expand(-1, -1, states.shape[2])) * kept[..., None]  # (B, M, D)
    return batch.with_(
        input_ids=batch.input_ids.gather(1, order),
        attention_mask=kept,
        ordinary=ordinary.gather(1, order) & kept,
        states=states,
    )
