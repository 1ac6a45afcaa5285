"""How far a text's category reaches, by its own surroundings: what lets k be larger for a text of a large category.

The reach lies half way between how similar a text is to its label on average and to its nearest few.
In categories of uneven size one k for all splits the large ones: most of their texts would be pushed apart. N texts,
D dimensions, k neighbours.
"""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.filters import reciprocal_filter
from subtaxa.neighbours import Neighbours

FEW = 4  # nearest neighbours that say how near is near
SHARE = 0.5  # of the way from the surroundings to the nearest few


def surroundings(rows: Tensor, labels: Tensor) -> Tensor:
    """The mean similarity (N,) of each unit row (N, D) to all rows of its label."""
    sums = torch.zeros(int(labels.max()) + 1, rows.shape[1], device=rows.device).index_add_(0, labels, rows)  # (C, D)
    return (rows * (sums / torch.bincount(labels)[:, None])[labels]).sum(1)


def within_reach(neighbours: Neighbours, rows: Tensor, labels: Tensor) -> Tensor:
    """How many texts (N,) are within each other's reach with a text, itself among them; at most as many as listed."""
    similarity, valid = neighbours.similarity, neighbours.valid  # (N, k) each
    there = valid[:, 1 : 1 + FEW]  # (N, FEW)
    near = (similarity[:, 1 : 1 + FEW] * there).sum(1) / there.sum(1).clamp(min=1)  # (N,)
    around = surroundings(rows, labels)  # (N,)
    reached = valid & (similarity >= (around + SHARE * (near - around))[:, None])  # (N, k)
    reached[:, 0] = True
    return (reached & reciprocal_filter(neighbours.indices, reached)).sum(1)
