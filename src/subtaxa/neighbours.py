"""Retrieval: the k rows of the queue most similar to each query, in blocks, never N x N.

N texts, D dimensions, k neighbours, B rows in a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from subtaxa import parallel

BLOCK_CELLS = 16_000_000  # similarities held at once: 64 MB of float32


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each text, itself first, then the most similar; `valid` is False where there are fewer."""

    indices: Tensor  # (N, k) int64
    valid: Tensor  # (N, k) bool


def retrieve(queries: Tensor, queue: Tensor, k: int) -> Neighbours:
    """The k most similar rows of the whole queue for every query; the query's own row is always among them."""
    everyone = torch.arange(len(queries), device=queries.device)
    return _search(queries, queue, [everyone], min(k, len(queue)))


def retrieve_within(queries: Tensor, queue: Tensor, labels: Tensor, k: int) -> Neighbours:
    """As `retrieve`, but each query searches only the rows of its own coarse label."""
    groups = [(labels == label).nonzero().squeeze(1) for label in labels.unique()]
    return _search(queries, queue, groups, min(k, int(torch.bincount(labels).max())))


def _search(queries: Tensor, queue: Tensor, groups: Sequence[Tensor], k: int) -> Neighbours:
    """The neighbours inside each group. Processes that work together take turns at the blocks, which are the same
    whatever their number: so are the neighbours."""
    own = torch.arange(len(queries), device=queries.device)
    indices = own[:, None].repeat(1, k)  # (N, k), padded with the own index
    valid = torch.zeros(len(queries), k, dtype=torch.bool, device=queries.device)  # (N, k)
    done: list[Tensor] = []  # the rows of each block, in order
    for members in groups:  # (n,)
        k_group, step = min(k, len(members)), max(1, BLOCK_CELLS // len(members))
        rows = queue if len(members) == len(queue) else queue[members]  # (n, D)
        for block in own[: len(members)].split(step):
            where = members[block]  # (B,)
            if len(done) % parallel.processes() == parallel.rank():
                indices[where, :k_group] = members[_top_k(queries[where], rows, block, k_group)]
            done.append(where)
        valid[members, :k_group] = True
    return Neighbours(parallel.exchange(indices, done), valid)


def _top_k(queries: Tensor, rows: Tensor, own: Tensor, k: int) -> Tensor:
    """The k most similar rows of each query in a block (B, k); the own row is forced first."""
    similarity = queries @ rows.T  # (B, N)
    similarity.scatter_(1, own[:, None], float("inf"))
    return similarity.topk(k, dim=1).indices
