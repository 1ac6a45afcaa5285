"""The three filters of DNA: same coarse label, reciprocal, same rank statistics.

Each is a pure function from neighbour indices (N, k) to a mask (N, k): a removed neighbour is False, never an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import torch
from torch import Tensor


def label_filter(indices: Tensor, labels: Tensor) -> Tensor:
    """Keep j if it carries i's coarse label: texts of one fine category always share it."""
    return labels[indices] == labels[:, None]  # (N, k)


def reciprocal_filter(indices: Tensor, kept: Tensor) -> Tensor:
    """Keep j if i is in j's own list as well. `kept` says which entries of the lists count (the paper: after the label
    filter; the released code: all of them)."""
    n = len(indices)
    own = torch.arange(n, device=indices.device)[:, None]  # (N, 1)
    forward = own * n + indices  # (N, k): the pair i→j as one number
    listed = forward[kept].sort().values  # (E,)
    if len(listed) == 0:
        return torch.zeros_like(kept)
    backward = indices * n + own  # (N, k): the pair j→i
    place = torch.searchsorted(listed, backward).clamp_(max=len(listed) - 1)
    return listed[place] == backward


def rank_filter(queries: Tensor, queue: Tensor, indices: Tensor, m: int) -> Tensor:
    """Keep j if the set of its m largest components is the set of i's m largest."""
    top = torch.cat([queries, queue]).topk(m, dim=1).indices.sort(dim=1).values  # (2N, m)
    identity = torch.unique(top, dim=0, return_inverse=True)[1]  # (2N,): equal sets, equal number
    of_queries, of_queue = identity[: len(queries)], identity[len(queries) :]
    return of_queue[indices] == of_queries[:, None]  # (N, k)


def survival(stages: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of neighbours that each filter lets through; the first stage is what went in."""
    left = {name: int(kept.sum()) for name, kept in stages.items()}
    return {f"{name}_survival": left[name] / max(1, left[before]) for before, name in pairwise(stages)}
