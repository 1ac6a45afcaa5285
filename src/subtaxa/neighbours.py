"""Retrieval: the k rows of the queue most similar to each query, in blocks, never N x N.

N texts, D dimensions, k neighbours, B rows in a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK_CELLS = 16_000_000  # similarities held at once: 64 MB of float32


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each text, itself first, then the most similar; `valid` is False where there are fewer."""

    indices: Tensor  # (N, k) int64
    valid: Tensor  # (N, k) bool


def retrieve(queries: Tensor, queue: Tensor, k: int) -> Neighbours:
    """The k most similar rows of the whole queue for every query; the query's own row is always among them."""
    k = min(k, len(queue))
    own = torch.arange(len(queries), device=queries.device)
    indices = _top_k(queries, queue, own, k)
    return Neighbours(indices, torch.ones_like(indices, dtype=torch.bool))


def retrieve_within(queries: Tensor, queue: Tensor, labels: Tensor, k: int) -> Neighbours:
    """As `retrieve`, but each query searches only the rows of its own coarse label."""
    k = min(k, int(torch.bincount(labels).max()))
    own = torch.arange(len(queries), device=queries.device)
    indices = own[:, None].repeat(1, k)  # (N, k), padded with the own index
    valid = torch.zeros(len(queries), k, dtype=torch.bool, device=queries.device)  # (N, k)
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)  # (n,)
        k_label = min(k, len(members))
        local = _top_k(queries[members], queue[members], own[: len(members)], k_label)  # (n, k_label)
        indices[members, :k_label] = members[local]
        valid[members, :k_label] = True
    return Neighbours(indices, valid)


def _top_k(queries: Tensor, rows: Tensor, own: Tensor, k: int) -> Tensor:
    """Blocked matrix product and top-k; the own row is forced first."""
    found = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
    step = max(1, BLOCK_CELLS // len(rows))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        similarity = queries[block] @ rows.T  # (B, N)
        similarity.scatter_(1, own[block][:, None], float("inf"))
        found[block] = similarity.topk(k, dim=1).indices  # (B, k)
    return found
