"""Texts tokenised once and kept packed; batches are padded only to their own longest text.

B texts in a batch, L tokens of its longest text, T tokens in all, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

IN_CACHE = 512  # tokens whose states a processor's cache holds: on a CPU, larger batches take up to twice as long


@dataclass(frozen=True)
class Batch:
    """Some texts, ready for the encoder. `states` are cached outputs of the frozen lower layers, when there are any."""

    index: Tensor  # (B,) position of each text in the training data
    input_ids: Tensor  # (B, L)
    attention_mask: Tensor  # (B, L) bool
    ordinary: Tensor  # (B, L) bool: neither padding nor special
    states: Tensor | None = None  # (B, L, D)

    def with_(self, **changes: Any) -> Batch:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def to(self, device: torch.device) -> Batch:
        return Batch(*(None if t is None else t.to(device) for t in vars(self).values()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Tokens:
    """All texts as one row of token ids; `offsets[i] : offsets[i+1]` is text i."""

    ids: Tensor  # (T,) int32
    ordinary: Tensor  # (T,) bool
    offsets: Tensor  # (N + 1,) int64
    pad_id: int
    states: Tensor | None = None  # (T, D) cached hidden states

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        return self.offsets.diff()  # (N,)

    def batch(self, index: Tensor) -> Batch:
        """The padded batch of the given texts."""
        lengths = self.lengths[index]  # (B,)
        columns = torch.arange(int(lengths.max()))  # (L,)
        mask = columns < lengths[:, None]  # (B, L)
        where = (self.offsets[index][:, None] + columns).clamp_(max=len(self.ids) - 1)  # (B, L)
        ids = torch.where(mask, self.ids[where].long(), self.pad_id)
        states = None if self.states is None else self.states[where] * mask[..., None]  # (B, L, D)
        return Batch(index, ids, mask, self.ordinary[where] & mask, states)

    def batches_by_length(self, max_tokens: int = IN_CACHE, max_texts: int = 256) -> list[Tensor]:
        """Every text once, longest first, in batches of bounded padded size: the order for encoding."""
        lengths = self.lengths.numpy()
        order = np.argsort(-lengths, kind="stable")
        batches, start = [], 0
        while start < len(order):
            size = min(max_texts, max(1, max_tokens // int(lengths[order[start]])))
            batches.append(torch.from_numpy(order[start : start + size].copy()))
            start += size
        return batches

    def shuffled_batches(self, size: int, generator: torch.Generator, subset: Tensor | None = None) -> list[Tensor]:
        """An epoch's batches: shuffled, then sorted by length inside pools of 32 batches so that padding stays small,
        then the batches shuffled."""
        members = torch.arange(len(self)) if subset is None else subset
        order = members[torch.randperm(len(members), generator=generator)]
        batches: list[Tensor] = []
        for pool in order.split(size * 32) if len(order) else ():
            batches += pool[self.lengths[pool].argsort(stable=True)].split(size)
        return [batches[i] for i in torch.randperm(len(batches), generator=generator)]
