"""The three filters of DNA: same coarse label, reciprocal, same rank statistics.

Each is a pure function from neighbour indices (N, k) to a mask (N, k): a removed neighbour is False, never an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

ROOM, LARGEST = 16, 2**26  # cells of a table of pairs, for each neighbour and in all, that are worth their memory
BLOCK = 2**17  # neighbours that are looked up at once: the processor's cache holds them
AT_ONCE, PARTS = 2**18, 32  # neighbours whose pairs are sorted at once if there is no table, or in so many parts


def label_filter(indices: Tensor, labels: Tensor) -> Tensor:
    """Keep j if it carries i's coarse label: texts of one fine category always share it."""
    return _same(labels.int(), labels.int(), indices)


def reciprocal_filter(indices: Tensor, kept: Tensor, labels: Tensor | None = None) -> Tensor:
    """Keep j if i is in j's own list as well. `kept` says which entries of the lists are there at all (the paper: those
    that the label filter left; the released code: all of them). With `labels`, no kept entry may have another one."""
    labels = torch.zeros_like(indices[:, 0]) if labels is None else labels
    if int((torch.bincount(labels) ** 2).sum()) <= min(ROOM * indices.numel(), LARGEST):
        return _by_table(indices, kept, labels)
    return _by_lists(indices.cpu().numpy(), kept.cpu().numpy()).to(kept.device)


def _by_table(indices: Tensor, kept: Tensor, labels: Tensor) -> Tensor:
    """Reciprocity where the pairs of all texts that share a label fit into one table: mark (i, j), look up (j, i)."""
    sizes = torch.bincount(labels)
    order = labels.argsort(stable=True)
    place = torch.empty_like(labels)  # (N,) of a text among those of its label
    place[order] = torch.arange(len(labels), device=labels.device) - (sizes.cumsum(0) - sizes)[labels[order]]
    begin = ((sizes**2).cumsum(0) - sizes**2)[labels] + place * sizes[labels]  # (N,) where a text's pairs begin
    nowhere = int((sizes**2).sum()) + len(labels)
    marked = torch.zeros(nowhere + 1, dtype=torch.bool, device=kept.device)
    for rows in _blocks(indices):
        there = (_of(place, indices[rows]) + begin[rows, None]).where(kept[rows], nowhere)  # (B, k)
        marked.scatter_(0, there.view(-1), True)
    mutual = torch.empty_like(kept)
    for rows in _blocks(indices):
        back = _of(begin, indices[rows]) + place[rows, None]  # (B, k)
        mutual[rows] = _of(marked, back) & kept[rows]
    return mutual


def _by_lists(indices: NDArray[np.int64], kept: NDArray[np.bool_]) -> Tensor:
    """Reciprocity by the lists of some texts and of those that name them, so many at once that memory stays small."""
    n, k = indices.shape
    mutual = np.zeros(n * k, dtype=bool)
    step = max(1, AT_ONCE // k, n // PARTS)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        stop = min(n, start + step)
        begins = np.concatenate([[0], kept[rows].sum(1).cumsum()])
        own = 1 + np.flatnonzero(kept[rows]).astype(np.int32)  # places in the lists
        named = csr_matrix((own, indices[rows][kept[rows]], begins), shape=(stop - start, n))
        named = named.T.tocsr().T.tocsr()  # transposing sorts, which costs less than any other way
        back = np.flatnonzero((indices >= start) & (indices < stop) & kept)
        who = (indices.ravel()[back] - start, back // k)
        naming = csr_matrix((np.ones(len(back), dtype=np.int32), who), shape=named.shape)
        mutual[start * k :][named.multiply(naming).data - 1] = True
    return torch.from_numpy(mutual.reshape(n, k))


def rank_filter(queries: Tensor, queue: Tensor, indices: Tensor, m: int) -> Tensor:
    """Keep j if the set of its m largest components is the set of i's m largest."""
    generator = torch.Generator().manual_seed(0)
    code = torch.randint(-(2**62), 2**62, (queries.shape[1],), generator=generator).to(queries.device)  # (D,)
    of_queries = code[queries.topk(m, dim=1, sorted=False).indices].sum(1)  # (N,) one number per set
    of_queue = of_queries if queue is queries else code[queue.topk(m, dim=1, sorted=False).indices].sum(1)
    return _same(of_queries, of_queue, indices)


def _same(own: Tensor, theirs: Tensor, indices: Tensor) -> Tensor:
    """Where a text's own value (N,) is that of its neighbour (N, k)."""
    same = torch.empty_like(indices, dtype=torch.bool)
    for rows in _blocks(indices):
        same[rows] = _of(theirs, indices[rows]) == own[rows, None]
    return same


def _blocks(indices: Tensor) -> list[slice]:
    """The rows of the lists, some at a time."""
    step = max(1, BLOCK // indices.shape[1])
    return [slice(start, start + step) for start in range(0, len(indices), step)]


def _of(values: Tensor, indices: Tensor) -> Tensor:
    """The values (N,) of the neighbours (N, k); several times as fast as values[indices]."""
    return values.index_select(0, indices.reshape(-1)).view_as(indices)


def survival(stages: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of neighbours that each filter lets through; the first stage is what went in."""
    left = {name: int(kept.sum()) for name, kept in stages.items()}
    return {f"{name}_survival": left[name] / max(1, left[before]) for before, name in pairwise(stages)}
