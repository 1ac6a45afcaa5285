"""Retrieval: the k rows of the queue that are most similar to each query, in blocks, never as an N x N matrix.

Above `EXACT_ROWS` rows the search is approximate: each query is compared only with the rows of the nearest cells. This
is an inverted file, as in FAISS, but all queries of a cell are searched together, with one matrix product per cell.

Similarities are float32. Rows whose similarities differ only by rounding may come in either order. The order may depend
on the processor, but on one processor it is always the same.

N texts, n of one group, D dimensions, k neighbours, B rows in a block, C cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from subtaxa.runtime import processes
from subtaxa.runtime.arrays import distinct

# The number of similarities that are held at once, which take 16 MB in float32.
BLOCK_CELLS = 4_000_000

# Up to this many rows the search is exact; with more it would take too long.
EXACT_ROWS = 50_000

# The number of cells, as a multiple of √N.
CELLS = 4.0

# The number of rounds of k-means that place the centres of the cells.
KMEANS_ROUNDS = 5

# The number of rows per cell that k-means looks at.
KMEANS_ROWS = 16

# In an approximate search, a query is compared with at least this many rows.
MIN_ROWS_SEEN = 8192

# In an approximate search, a query is compared with at least this many rows for each neighbour asked for.
ROWS_SEEN_PER_NEIGHBOUR = 16


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each text: first itself, then the others by similarity.

    Where a text has fewer than k neighbours, `valid` is False.
    """

    indices: Tensor  # (N, k) int64
    valid: Tensor  # (N, k) bool


def retrieve(queries: Tensor, queue: Tensor, k: int) -> Neighbours:
    """The k most similar rows of the whole queue for every query. The query's own row is always the first."""
    everyone = torch.arange(len(queries), device=queries.device)
    return _search(queries, queue, [everyone], min(k, len(queue)))


def retrieve_within(queries: Tensor, queue: Tensor, labels: Tensor, k: int) -> Neighbours:
    """Like `retrieve`, but each query searches only the rows with its own coarse label."""
    groups = [(labels == label).nonzero().squeeze(1) for label in labels.unique()]
    return _search(queries, queue, groups, min(k, int(torch.bincount(labels).max())))


def _search(queries: Tensor, queue: Tensor, groups: Sequence[Tensor], k: int) -> Neighbours:
    """The neighbours inside each group.

    Several processes share the blocks. The blocks do not depend on the number of processes, so neither does the result.
    """
    indices = torch.arange(len(queries), device=queries.device)[:, None].repeat(1, k)  # (N, k)
    valid = torch.zeros(len(queries), k, dtype=torch.bool, device=queries.device)  # (N, k)
    done: list[Tensor] = []  # the rows of each block, in order
    buffers = _Buffers(queries)
    for members in groups:  # (n,)
        k_group, whole = min(k, len(members)), len(members) == len(queue)
        rows = queue if whole else queue[members]  # (n, D)
        asking = rows if queries is queue else queries if whole else queries[members]  # (n, D)
        copies = _Copies(rows, asking)
        if copies.any:
            same, rows = asking is rows, rows[copies.first]  # (P, D)
            asking = rows if same else asking[copies.first]  # (P, D)
        blocks = _approximate_blocks if len(rows) > EXACT_ROWS else _exact_blocks
        for own, seen in blocks(asking, rows, min(k_group, len(rows))):
            texts = copies.of(own)  # (b,)
            if len(done) % processes.world_size() == processes.rank():
                found = _top_k(asking, rows, own, seen, min(k_group, len(rows)), buffers)  # (B, k)
                for some, near in copies.neighbours(own, found, k_group):
                    indices[members[some], :k_group] = members[near]
            done.append(members[texts])
        valid[members, :k_group] = True
    return Neighbours(processes.all_gather_rows(indices, done), valid)


class _Copies:
    """The n rows of a group, of which only the first of each kind is searched. Equal rows, of equal texts, are a kind.

    Each text is followed by its own copies in a circle, so that copies are neighbours of one another.
    """

    def __init__(self, rows: Tensor, asking: Tensor) -> None:
        pair = [rows] if asking is rows else [rows, asking]
        first, kind = distinct(zip(*(map(_digest, part.cpu().numpy()) for part in pair), strict=True))
        self.any = len(first) < len(kind)
        self.first, self.kind = (torch.from_numpy(index).to(rows.device) for index in (first, kind))  # (P,), (n,)
        self.order = self.kind.argsort(stable=True)  # (n,)
        self.count = torch.bincount(self.kind, minlength=len(first))  # (P,)
        self.begin = self.count.cumsum(0) - self.count  # (P,)

    def of(self, kinds: Tensor) -> Tensor:
        """The texts (b,) of some kinds (B,)."""
        if not self.any:
            return kinds
        count = self.count[kinds]
        before = count.cumsum(0) - count
        start = (self.begin[kinds] - before).repeat_interleave(count)
        return self.order[start + torch.arange(len(start), device=start.device)]

    def neighbours(self, kinds: Tensor, found: Tensor, k: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The texts (b,) of some kinds and their neighbours (b, k), given the kinds' neighbours (B, k') as kinds."""
        if not self.any:
            yield kinds, found
            return
        rank = torch.arange(k, device=found.device).expand(len(found), k).contiguous()  # (B, k)
        until = self.count[found].cumsum(1)  # (B, k') the number of texts of the nearest kinds
        column = torch.searchsorted(until, rank, right=True)  # (B, k)
        near, last = found.gather(1, column), until.gather(1, column)  # (B, k)
        texts = self.order[self.begin[near] + rank - (last - self.count[near])]  # (B, k)
        place = torch.empty_like(self.order)
        place[self.order] = torch.arange(len(place), device=place.device)
        row = torch.empty_like(self.count)
        row[kinds] = torch.arange(len(kinds), device=kinds.device)
        for some in self.of(kinds).split(max(1, BLOCK_CELLS // k)):
            kind = self.kind[some][:, None]  # (b, 1)
            begin, count = self.begin[kind], self.count[kind]
            circle = begin + (place[some][:, None] - begin + rank[:1]) % count  # (b, k)
            yield some, torch.where(rank[:1] < count, self.order[circle], texts[row[kind[:, 0]]])


def _digest(row: NDArray[np.float32]) -> bytes:
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()


class _Buffers:
    """Memory that all blocks share. If each block allocated its own, memory would pile up."""

    def __init__(self, like: Tensor) -> None:
        self.like, self.buffers = like, dict[str, Tensor]()

    def matrix(self, name: str, rows: int, columns: int) -> Tensor:
        """An uninitialised matrix. It overwrites the previous one with this name."""
        cells = rows * columns
        if name not in self.buffers:
            self.buffers[name] = self.like.new_empty(cells)
        elif len(self.buffers[name]) < cells:
            self.buffers[name] = self.like.new_empty(cells + cells // 4)
        return self.buffers[name][:cells].view(rows, columns)

    def rows(self, name: str, matrix: Tensor, which: Tensor) -> Tensor:
        """A copy of some rows (n, D) of a matrix."""
        return torch.index_select(matrix, 0, which, out=self.matrix(name, len(which), matrix.shape[1]))


def _top_k(queries: Tensor, rows: Tensor, own: Tensor, seen: Tensor | None, k: int, buffers: _Buffers) -> Tensor:
    """The k most similar rows (B, k) of the queries `own` (B,), each with its own row first.

    If `seen` (n,) is given, only these rows are searched.
    """
    columns = own if seen is None else torch.searchsorted(seen, own)  # (B,) of the own rows
    rows = rows if seen is None else buffers.rows("seen", rows, seen)  # (n, D)
    similarity = buffers.matrix("similarity", len(own), len(rows))  # (B, n)
    torch.mm(buffers.rows("asking", queries, own), rows.T, out=similarity)
    similarity.scatter_(1, columns[:, None], float("inf"))
    found = similarity.topk(k, dim=1).indices  # (B, k)
    return found if seen is None else seen[found]


# The queries of a block (B,), and the rows (n,) that they are compared with, or None for all rows.
Block = tuple[Tensor, Tensor | None]


def _exact_blocks(queries: Tensor, rows: Tensor, k: int) -> Iterator[Block]:
    """Every query is compared with every row."""
    for own in torch.arange(len(queries), device=queries.device).split(max(1, BLOCK_CELLS // len(rows))):
        yield own, None


def _approximate_blocks(queries: Tensor, rows: Tensor, k: int) -> Iterator[Block]:
    """The queries of a cell are compared with the rows of the nearest cells until these are enough, and their own."""
    centres = _centres(rows)  # (C, D)
    of_rows = _nearest(rows, centres)  # (N,) cells
    of_queries = of_rows if queries is rows else _nearest(queries, centres)
    inside, asking = _members(of_rows, len(centres)), _members(of_queries, len(centres))
    sizes = torch.bincount(of_rows, minlength=len(centres))
    enough = max(MIN_ROWS_SEEN, ROWS_SEEN_PER_NEIGHBOUR * k)
    for centre, together in zip(centres, asking, strict=True):
        cells = (centres @ centre).argsort(descending=True, stable=True)  # (C,)
        cells = cells[: 1 + int((sizes[cells].cumsum(0) < enough).sum())]
        for own in together.split(max(1, BLOCK_CELLS // enough)) if len(together) else ():
            yield own, torch.cat([own, *(inside[i] for i in cells.tolist())]).unique()  # sorted


def _centres(rows: Tensor) -> Tensor:
    """Unit centres (C, D) of the cells: a few rounds of k-means over a sample of the rows."""
    number = round(CELLS * len(rows) ** 0.5)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).to(rows.device)
    sample = rows[order[: KMEANS_ROWS * number]]  # (n, D)
    centres = F.normalize(sample[:number], dim=1)
    for _ in range(KMEANS_ROUNDS):
        sums = torch.zeros_like(centres).index_add_(0, _nearest(sample, centres), sample)
        centres = F.normalize(sums, dim=1).where(sums.any(1, keepdim=True), centres)  # An empty cell stays in place.
    return centres


def _nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """The cell (N,) of each row."""
    cells, buffers = torch.empty(len(rows), dtype=torch.int64, device=rows.device), _Buffers(rows)
    size = max(1, BLOCK_CELLS // 4 // len(centres))
    for block, found in zip(rows.split(size), cells.split(size), strict=True):  # (B, D), (B,)
        similarity = torch.mm(block, centres.T, out=buffers.matrix("similarity", len(block), len(centres)))  # (B, C)
        torch.argmax(similarity, 1, out=found)
    return cells


def _members(cells: Tensor, number: int) -> Sequence[Tensor]:
    """The rows in each cell."""
    return cells.argsort(stable=True).split(torch.bincount(cells, minlength=number).tolist())
