"""Retrieval: the k rows of the queue most similar to each query, in blocks, never N x N.

Among more than `LARGE` rows the search is approximate: each query looks only at the rows of the cells around its own
(an inverted file, as in FAISS, but with all queries of a cell asking together: one matrix product for each cell).

Similarities are float32. Rows whose similarities differ by rounding only may come in either order, which can depend on
the processor; on one processor the order is always the same.

N texts, D dimensions, k neighbours, B rows in a block, C cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.runtime import processes

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
    everyone = torch.arange(len(queries), device=queries.device)
    return _search(queries, queue, [everyone], min(k, len(queue)))


def retrieve_within(queries: Tensor, queue: Tensor, labels: Tensor, k: int) -> Neighbours:
    """As `retrieve`, but each query searches only the rows of its own coarse label."""
    groups = [(labels == label).nonzero().squeeze(1) for label in labels.unique()]
    return _search(queries, queue, groups, min(k, int(torch.bincount(labels).max())))


def _search(queries: Tensor, queue: Tensor, groups: Sequence[Tensor], k: int) -> Neighbours:
    """The neighbours inside each group. Processes that work together take turns at the blocks, which are the same
    whatever their number: so are the neighbours."""
    indices = torch.arange(len(queries), device=queries.device)[:, None].repeat(1, k)  # (N, k), padded with the own
    valid = torch.zeros(len(queries), k, dtype=torch.bool, device=queries.device)  # (N, k)
    done: list[Tensor] = []  # the rows of each block, in order
    room = _Room(queries)
    for members in groups:  # (n,)
        k_group, whole = min(k, len(members)), len(members) == len(queue)
        rows = queue if whole else queue[members]  # (n, D)
        asking = rows if queries is queue else queries if whole else queries[members]  # (n, D)
        for own, seen in (_around if len(members) > LARGE else _all)(asking, rows, k_group):
            where = members[own]  # (B,)
            if len(done) % processes.world_size() == processes.rank():
                indices[where, :k_group] = members[_top_k(asking, rows, own, seen, k_group, room)]
            done.append(where)
        valid[members, :k_group] = True
    return Neighbours(processes.all_gather_rows(indices, done), valid)


class _Room:
    """KnownTexts that every block uses again: taken anew for each of them, it would pile up."""

    def __init__(self, like: Tensor) -> None:
        self.like, self.parts = like, dict[str, Tensor]()

    def take(self, part: str, rows: int, columns: int) -> Tensor:
        """A table that holds anything; the one before of the same part is gone."""
        cells = rows * columns
        if part not in self.parts:
            self.parts[part] = self.like.new_empty(cells)
        elif len(self.parts[part]) < cells:
            self.parts[part] = self.like.new_empty(cells + cells // 4)
        return self.parts[part][:cells].view(rows, columns)

    def rows(self, part: str, of: Tensor, which: Tensor) -> Tensor:
        """Some rows (n, D) of a table."""
        return torch.index_select(of, 0, which, out=self.take(part, len(which), of.shape[1]))


def _top_k(queries: Tensor, rows: Tensor, own: Tensor, seen: Tensor | None, k: int, room: _Room) -> Tensor:
    """The k most similar rows of some queries (B, k), all or only of those `seen` (n,); the own row is forced first."""
    places = own if seen is None else torch.searchsorted(seen, own)  # (B,) of the own rows
    rows = rows if seen is None else room.rows("seen", rows, seen)  # (n, D)
    similarity = room.take("similarity", len(own), len(rows))  # (B, n)
    torch.mm(room.rows("asking", queries, own), rows.T, out=similarity)
    similarity.scatter_(1, places[:, None], float("inf"))
    found = similarity.topk(k, dim=1).indices  # (B, k)
    return found if seen is None else seen[found]


Block = tuple[Tensor, Tensor | None]  # queries that ask together (B,), and the rows that they see (n,), or all


def _all(queries: Tensor, rows: Tensor, k: int) -> Iterator[Block]:
    """Every query sees every row."""
    for own in torch.arange(len(queries), device=queries.device).split(max(1, BLOCK_CELLS // len(rows))):
        yield own, None


def _around(queries: Tensor, rows: Tensor, k: int) -> Iterator[Block]:
    """The queries of a cell see only the rows of the cells nearest to it, as many as are enough, and their own."""
    centres = _centres(rows)  # (C, D)
    of_rows = _nearest(rows, centres)  # (N,) cells
    of_queries = of_rows if queries is rows else _nearest(queries, centres)
    inside, asking = _members(of_rows, len(centres)), _members(of_queries, len(centres))
    sizes = torch.bincount(of_rows, minlength=len(centres))
    enough = max(LOOKED_AT, TIMES_K * k)
    for centre, together in zip(centres, asking, strict=True):
        cells = (centres @ centre).argsort(descending=True, stable=True)  # (C,)
        cells = cells[: 1 + int((sizes[cells].cumsum(0) < enough).sum())]
        for own in together.split(max(1, BLOCK_CELLS // enough)) if len(together) else ():
            yield own, torch.cat([own, *(inside[i] for i in cells.tolist())]).unique()  # sorted


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
    cells, room = torch.empty(len(rows), dtype=torch.int64, device=rows.device), _Room(rows)
    size = max(1, BLOCK_CELLS // 4 // len(centres))
    for block, found in zip(rows.split(size), cells.split(size), strict=True):  # (B, D), (B,)
        similarity = torch.mm(block, centres.T, out=room.take("similarity", len(block), len(centres)))  # (B, C)
        torch.argmax(similarity, 1, out=found)
    return cells


def _members(cells: Tensor, number: int) -> Sequence[Tensor]:
    """Which rows are in each cell."""
    return cells.argsort(stable=True).split(torch.bincount(cells, minlength=number).tolist())
