"""The three filters of DNA: same coarse label, reciprocal, same rank statistics.

Each is a pure function from neighbour indices (N, k) to a mask (N, k). A removed neighbour is False in the mask; its
index stays.

N texts, B in a block, k neighbours, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

# A table of all pairs is used if it has at most this many cells for each entry of the neighbour lists.
TABLE_CELLS_PER_NEIGHBOUR = 16

# A table of all pairs never has more cells than this.
MAX_TABLE_CELLS = 2**26

# The number of neighbours that are looked up at once, so that they fit into the processor's cache.
BLOCK = 2**17

# Without a table, the pairs of at least this many neighbours are sorted at once.
SORTED_NEIGHBOURS = 2**18

# Without a table, the texts are divided into at most this many parts.
MAX_PARTS = 32


def label_filter(indices: Tensor, labels: Tensor) -> Tensor:
    """Keep j if it has the coarse label of i: texts of one fine category always share it."""
    return _same(labels.int(), labels.int(), indices)


def reciprocal_filter(indices: Tensor, kept: Tensor, labels: Tensor | None = None) -> Tensor:
    """Keep j if i is in the list of j as well.

    `kept` says which entries of the lists count. In the paper these are the entries that the label filter kept; in the
    released code they are all entries. If `labels` are given, every kept entry must have the label of its text.
    """
    labels = torch.zeros_like(indices[:, 0]) if labels is None else labels
    cells = int((torch.bincount(labels) ** 2).sum())
    if cells <= min(TABLE_CELLS_PER_NEIGHBOUR * indices.numel(), MAX_TABLE_CELLS):
        return _reciprocal_by_table(indices, kept, labels)
    return _reciprocal_by_sorting(indices.cpu().numpy(), kept.cpu().numpy()).to(kept.device)


def _reciprocal_by_table(indices: Tensor, kept: Tensor, labels: Tensor) -> Tensor:
    """Mark (i, j) in a table of all pairs of texts that share a label, then look up (j, i)."""
    sizes = torch.bincount(labels)
    order = labels.argsort(stable=True)
    column = torch.empty_like(labels)  # (N,) the position of a text among those of its label
    column[order] = torch.arange(len(labels), device=labels.device) - (sizes.cumsum(0) - sizes)[labels[order]]
    first = ((sizes**2).cumsum(0) - sizes**2)[labels] + column * sizes[labels]  # (N,) the first cell of each text
    unused = int((sizes**2).sum()) + len(labels)
    marked = torch.zeros(unused + 1, dtype=torch.bool, device=kept.device)
    for rows in _blocks(indices):
        cell = (_take(column, indices[rows]) + first[rows, None]).where(kept[rows], unused)  # (B, k)
        marked.scatter_(0, cell.view(-1), True)
    mutual = torch.empty_like(kept)
    for rows in _blocks(indices):
        cell = _take(first, indices[rows]) + column[rows, None]  # (B, k)
        mutual[rows] = _take(marked, cell) & kept[rows]
    return mutual


def _reciprocal_by_sorting(indices: NDArray[np.int64], kept: NDArray[np.bool_]) -> Tensor:
    """Compare the lists of some texts with the lists that contain those texts, part by part to limit memory."""
    n, k = indices.shape
    mutual = np.zeros(n * k, dtype=bool)
    step = max(1, SORTED_NEIGHBOURS // k, n // MAX_PARTS)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        stop = min(n, start + step)
        begins = np.concatenate([[0], kept[rows].sum(1).cumsum()])
        positions = 1 + np.flatnonzero(kept[rows]).astype(np.int32)  # Counted from 1, since 0 means no entry.
        listed = csr_matrix((positions, indices[rows][kept[rows]], begins), shape=(stop - start, n))
        listed = listed.T.tocsr().T.tocsr()  # Transposing twice is the fastest way to sort.
        back = np.flatnonzero((indices >= start) & (indices < stop) & kept)
        pairs = (indices.ravel()[back] - start, back // k)
        listing = csr_matrix((np.ones(len(back), dtype=np.int32), pairs), shape=listed.shape)
        mutual[start * k :][listed.multiply(listing).data - 1] = True
    return torch.from_numpy(mutual.reshape(n, k))


def rank_filter(queries: Tensor, queue: Tensor, indices: Tensor, m: int) -> Tensor:
    """Keep j if the m largest components of j are the m largest components of i, in any order."""
    generator = torch.Generator().manual_seed(0)
    code = torch.randint(-(2**62), 2**62, (queries.shape[1],), generator=generator).to(queries.device)  # (D,)
    of_queries = code[queries.topk(m, dim=1, sorted=False).indices].sum(1)  # (N,) one number for each set
    of_queue = of_queries if queue is queries else code[queue.topk(m, dim=1, sorted=False).indices].sum(1)
    return _same(of_queries, of_queue, indices)


def _same(own: Tensor, theirs: Tensor, indices: Tensor) -> Tensor:
    """Where the value of a text (N,) equals that of its neighbour (N, k)."""
    same = torch.empty_like(indices, dtype=torch.bool)
    for rows in _blocks(indices):
        same[rows] = _take(theirs, indices[rows]) == own[rows, None]
    return same


def _blocks(indices: Tensor) -> list[slice]:
    """The rows of the lists, block by block."""
    step = max(1, BLOCK // indices.shape[1])
    return [slice(start, start + step) for start in range(0, len(indices), step)]


def _take(values: Tensor, indices: Tensor) -> Tensor:
    """`values[indices]` (N, k) for values (N,), but several times faster."""
    return values.index_select(0, indices.reshape(-1)).view_as(indices)


def survival(stages: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of neighbours that each filter keeps. The first stage is the input of the first filter."""
    left = {name: int(kept.sum()) for name, kept in stages.items()}
    return {f"{name}_survival": left[name] / max(1, left[before]) for before, name in pairwise(stages)}
