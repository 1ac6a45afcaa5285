"""Retrieval: the k rows of the queue most similar to each query, in blocks, never N x N.

Among more than `LARGE` rows the search is approximate: each query looks only at the rows of the cells around its own
(an inverted file, as in FAISS, but with all queries of a cell asking together: one matrix product for each cell).

N texts, D dimensions, k neighbours, B rows in a block, C cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

BLOCK_CELLS = 4_000_000  # similarities held at once: 16 MB of float32
LARGE = 50_000  # rows, from which on a search of all of them takes too long
CELLS = 4.0  # times √N cells
ROUNDS, SAMPLE = 5, 16  # of k-means, and rows per cell that it looks at
LOOKED_AT, TIMES_K = 8192, 16  # rows that a query is compared with at least, or so many times k


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each text, itself first, then the most similar; `valid` is False where there are fewer."""

    indices: Tensor  # (N, k) int64
    valid: Tensor  # (N, k) bool


def retrieve(queries: Tensor, queue: Tensor, k: int) -> Neighbours:
    """The k most similar rows of the whole queue for every query; the query's own row is always among them."""
    indices = _top_k(queries, queue, min(k, len(queue)))
    return Neighbours(indices, torch.ones_like(indices, dtype=torch.bool))


def retrieve_within(queries: Tensor, queue: Tensor, labels: Tensor, k: int) -> Neighbours:
    """As `retrieve`, but each query searches only the rows of its own coarse label."""
    sizes = torch.bincount(labels)
    if len(sizes) == 1:
        return retrieve(queries, queue, k)
    k = min(k, int(sizes.max()))
    indices = torch.arange(len(queries), device=queries.device)[:, None].repeat(1, k)  # (N, k), padded with the own
    valid = torch.zeros(len(queries), k, dtype=torch.bool, device=queries.device)  # (N, k)
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)  # (n,)
        k_label = min(k, len(members))
        rows = queue[members]
        local = _top_k(rows if queries is queue else queries[members], rows, k_label)  # (n, k_label)
        indices[members, :k_label] = members[local]
        valid[members, :k_label] = True
    return Neighbours(indices, valid)


def _top_k(queries: Tensor, rows: Tensor, k: int) -> Tensor:
    """The k most similar rows for each query; row i is query i's own and is forced first."""
    if len(rows) > LARGE:
        return _around(queries, rows, k)
    return _exact(queries, rows, torch.arange(len(queries), device=queries.device), k)


def _exact(queries: Tensor, rows: Tensor, own: Tensor, k: int) -> Tensor:
    """Blocked matrix product and top-k; the own row is forced first."""
    found = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
    step = max(1, BLOCK_CELLS // len(rows))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        similarity = queries[block] @ rows.T  # (B, N)
        similarity.scatter_(1, own[block][:, None], float("inf"))
        found[block] = similarity.topk(k, dim=1).indices  # (B, k)
    return found


def _around(queries: Tensor, rows: Tensor, k: int) -> Tensor:
    """As `_exact`, but the queries of a cell see only the rows of the cells nearest to it, as many as are enough."""
    centres = _centres(rows)  # (C, D)
    of_rows = _nearest(rows, centres)  # (N,) cells
    of_queries = of_rows if queries is rows else _nearest(queries, centres)
    inside, asking = _members(of_rows, len(centres)), _members(of_queries, len(centres))
    sizes = torch.bincount(of_rows, minlength=len(centres))
    enough = max(LOOKED_AT, TIMES_K * k)
    found = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
    for centre, own in zip(centres, asking, strict=True):
        if len(own):
            cells = (centres @ centre).argsort(descending=True, stable=True)  # (C,)
            cells = cells[: 1 + int((sizes[cells].cumsum(0) < enough).sum())]
            seen = torch.cat([own, *(inside[i] for i in cells.tolist())]).unique()  # (n,) sorted
            found[own] = seen[_exact(queries[own], rows[seen], torch.searchsorted(seen, own), k)]
    return found


def _centres(rows: Tensor) -> Tensor:
    """Unit centres (C, D) of about equally many rows each: a few rounds of k-means over some of the rows."""
    number = round(CELLS * len(rows) ** 0.5)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).to(rows.device)
    some = rows[order[: SAMPLE * number]]  # (n, D)
    centres = F.normalize(some[:number], dim=1)
    for _ in range(ROUNDS):
        sums = torch.zeros_like(centres).index_add_(0, _nearest(some, centres), some)
        centres = F.normalize(sums, dim=1).where(sums.any(1, keepdim=True), centres)  # an empty cell stays
    return centres


def _nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """The cell (N,) of each row."""
    blocks = rows.split(max(1, BLOCK_CELLS // 4 // len(centres)))
    return torch.cat([(block @ centres.T).argmax(1) for block in blocks])


def _members(cells: Tensor, number: int) -> Sequence[Tensor]:
    """Which rows are in each cell."""
    return cells.argsort(stable=True).split(torch.bincount(cells, minlength=number).tolist())
