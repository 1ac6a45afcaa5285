"""The three filters of DNA: same coarse label, reciprocal, same rank statistics.

Each is a pure function from neighbour indices (N, k) to a mask (N, k): a removed neighbour is False, never an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor


def label_filter(indices: Tensor, labels: Tensor) -> Tensor:
    """Keep j if it carries i's coarse label: texts of one fine category always share it."""
    return labels[indices] == labels[:, None]  # (N, k)


def reciprocal_filter(indices: Tensor, kept: Tensor) -> Tensor:
    """Keep j if i is in j's own list as well. `kept` says which entries of the lists are there at all (the paper: those
    that the label filter left; the released code: all of them)."""
    n, k = indices.shape
    lists = kept.cpu().numpy()
    begins = np.concatenate([[0], lists.sum(1).cumsum()])  # (N + 1,)
    named = csr_matrix((1 + np.flatnonzero(lists), indices.cpu().numpy()[lists], begins), shape=(n, n))
    naming = named.T.tocsr()  # who has i in their list; transposing sorts, which costs less than any other way
    named = naming.T.tocsr()
    naming.data = np.ones(naming.nnz, dtype=np.int64)
    mutual = np.zeros(n * k, dtype=bool)
    mutual[named.multiply(naming).data - 1] = True
    return torch.from_numpy(mutual.reshape(n, k)).to(kept.device) & kept


def rank_filter(queries: Tensor, queue: Tensor, indices: Tensor, m: int) -> Tensor:
    """Keep j if the set of its m largest components is the set of i's m largest."""
    generator = torch.Generator().manual_seed(0)
    code = torch.randint(-(2**62), 2**62, (queries.shape[1],), generator=generator).to(queries.device)  # (D,)
    of_queries, of_queue = (code[rows.topk(m, dim=1).indices].sum(1) for rows in (queries, queue))  # (N,) one per set
    return of_queue[indices] == of_queries[:, None]  # (N, k)


def survival(stages: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of neighbours that each filter lets through; the first stage is what went in."""
    left = {name: int(kept.sum()) for name, kept in stages.items()}
    return {f"{name}_survival": left[name] / max(1, left[before]) for before, name in pairwise(stages)}
