"""The tokens of all texts in one packed row, and the padded batches that are made from it.

N texts, B texts in a batch, L tokens in its longest text, T tokens in all texts, D dimensions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from subtaxa.runtime.arrays import distinct

# The number of tokens that a CPU encodes at a time. Their states fit into its cache. Larger batches are up to twice as
# slow.
CPU_BATCH_TOKENS = 512

# Shuffled texts are sorted by length within pools of this many batches.
POOL_BATCHES = 32


@dataclass(frozen=True)
class Batch:
    """Some texts, padded to the same length. `states` is the cached output of the frozen layers, if there is one."""

    index: Tensor  # (B,) the position of each text among all texts
    input_ids: Tensor  # (B, L)
    attention_mask: Tensor  # (B, L) bool
    ordinary: Tensor  # (B, L) bool: neither padding nor special tokens
    states: Tensor | None = None  # (B, L, D)

    def with_(self, **changes: Any) -> Batch:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def to(self, device: torch.device) -> Batch:
        """The batch on another device."""
        return Batch(*(None if t is None else t.to(device) for t in vars(self).values()))  # type: ignore[arg-type]


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """States (B, L, D) with zeros where the mask (B, L) is False. A product would keep a NaN or an infinity there."""
    return states.masked_fill(~mask[..., None], 0.0)


@dataclass(frozen=True)
class Tokens:
    """The tokens of all texts in one row. The tokens of text i are those from `offsets[i]` to `offsets[i + 1]`."""

    ids: Tensor  # (T,) int32
    ordinary: Tensor  # (T,) bool
    offsets: Tensor  # (N + 1,) int64
    pad_id: int
    states: Tensor | None = None  # (t, D) the cached output of the frozen layers for the tokens of all distinct texts
    starts: Tensor | None = None  # (N,) where the states of each text begin

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        """The number of tokens of each text."""
        return self.offsets.diff()  # (N,)

    @cached_property
    def distinct(self) -> tuple[Tensor, Tensor]:
        """The positions of the first text of each kind (P,), and the kind of each text (N,).

        Texts with the same tokens are of one kind, and are encoded once. Without duplicates, each text is a kind.
        """
        ids = self.ids.numpy()
        first, kind = distinct(ids[begin:end].tobytes() for begin, end in itertools.pairwise(self.offsets.tolist()))
        return torch.from_numpy(first), torch.from_numpy(kind)

    def copied_to_duplicates(self, rows: Tensor) -> Tensor:
        """A row for each text (N, ...), given rows of which only those of the first text of each kind are filled."""
        first, kind = (index.to(rows.device) for index in self.distinct)
        return rows if len(first) == len(self) else rows[first[kind]]

    def with_states(self, fill: Callable[[Tensor, Tensor], None], dimensions: int) -> Tokens:
        """The tokens with states. `fill` gets them empty (t, D), and where those of each text begin (N,).

        Duplicates share their states, so t is the number of tokens of all distinct texts.
        """
        first, kind = self.distinct
        lengths = self.lengths[first]  # (P,)
        starts = (lengths.cumsum(0) - lengths)[kind]  # (N,)
        states = torch.empty(int(lengths.sum()), dimensions)  # (t, D)
        fill(states, starts)
        return replace(self, states=states, starts=starts)

    def batch(self, index: Tensor) -> Batch:
        """The texts at the given positions (B,), padded to the longest of them."""
        lengths = self.lengths[index]  # (B,)
        columns = torch.arange(int(lengths.max()))  # (L,)
        mask = columns < lengths[:, None]  # (B, L)
        where = (self.offsets[index][:, None] + columns).clamp_(max=len(self.ids) - 1)  # (B, L)
        ids = torch.where(mask, self.ids[where].long(), self.pad_id)
        states = None
        if self.states is not None and self.starts is not None:
            where_states = (self.starts[index][:, None] + columns).clamp_(max=len(self.states) - 1)  # (B, L)
            states = zero_padding(self.states[where_states], mask)  # (B, L, D)
        return Batch(index, ids, mask, self.ordinary[where] & mask, states)

    def batches_by_length(self, max_tokens: int = CPU_BATCH_TOKENS, max_texts: int = 256) -> list[Tensor]:
        """Batches of bounded padded size that hold every distinct text once, longest texts first, for encoding."""
        first = self.distinct[0]  # (P,)
        lengths = self.lengths[first].numpy()
        order = np.argsort(-lengths, kind="stable")
        batches, start = [], 0
        while start < len(order):
            size = min(max_texts, max(1, max_tokens // int(lengths[order[start]])))
            batches.append(first[torch.from_numpy(order[start : start + size])])
            start += size
        return batches

    def shuffled_batches(
        self, size: int, generator: torch.Generator, subset: Tensor | None = None, *, by_length: bool = True
    ) -> list[Tensor]:
        """The batches of an epoch in random order: texts of similar length together, which keeps padding small.

        Without `by_length`, the texts of a batch are drawn at random.
        """
        members = torch.arange(len(self)) if subset is None else subset.cpu()
        order = members[torch.randperm(len(members), generator=generator)]
        if not by_length:
            return list(order.split(size)) if len(order) else []
        batches: list[Tensor] = []
        for pool in order.split(size * POOL_BATCHES) if len(order) else ():
            batches += pool[self.lengths[pool].argsort(stable=True)].split(size)
        return [batches[i] for i in torch.randperm(len(batches), generator=generator)]
