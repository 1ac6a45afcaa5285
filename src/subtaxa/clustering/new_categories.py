"""New categories among new texts: groups of new texts whose neighbours are new as well.

A new text of an existing category has old texts among its neighbours. If the neighbours of a new text are new far more
often than expected by chance, its category did not exist before. Mutual neighbours among such texts form a category.

n new texts, N of both kinds, D dimensions, k neighbours.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from subtaxa.clustering.filters import reciprocal_filter
from subtaxa.clustering.neighbours import retrieve_within
from subtaxa.runtime.arrays import Floats, Ints

# The number of neighbours of each text that are examined.
NEIGHBOURS = 15

# The odds that a neighbour is new must be at least this many times the odds expected by chance.
LIFT = 8.0

# This much is added to both sides of the odds.
SMOOTHING = 0.01


def new_categories(
    old: Floats, old_labels: Ints, new: Floats, new_labels: Ints, min_texts: int, lift: float = LIFT
) -> list[Ints]:
    """The new categories, largest first: each is the indices of at least `min_texts` new texts of one label."""
    features = torch.from_numpy(np.concatenate([old, new]))  # (N, D)
    labels = np.concatenate([old_labels, new_labels])  # (N,)
    is_new = np.arange(len(labels)) >= len(old)  # (N,)
    near = retrieve_within(features, features, torch.from_numpy(labels), NEIGHBOURS + 1)
    mutual = reciprocal_filter(near.indices, near.valid).numpy()  # (N, 1 + k)
    indices, valid = near.indices.numpy(), near.valid.numpy().copy()
    valid[:, 0] = False  # The first neighbour is the text itself.
    odds = _odds(_share(is_new[indices] & valid, valid))
    chance = _odds(np.bincount(labels, is_new) / np.maximum(np.bincount(labels), 1))[labels]
    novel = is_new & (odds >= lift * chance) & valid.any(1)
    rows, columns = np.nonzero(mutual & valid & novel[:, None] & novel[indices])
    graph = csr_matrix((np.ones(len(rows)), (rows, indices[rows, columns])), shape=(len(labels), len(labels)))
    part = connected_components(graph, directed=False)[1]  # (N,)
    size = np.bincount(part[novel], minlength=int(part.max()) + 1)
    found = [np.flatnonzero(novel & (part == i)) - len(old) for i in np.flatnonzero(size >= max(2, min_texts))]
    return sorted(found, key=lambda positions: (-len(positions), int(positions[0])))


def _share(hits: NDArray[np.bool_], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share (N,) of the valid entries (N, 1 + k) that are hits."""
    return hits.sum(1) / np.maximum(valid.sum(1), 1)


def _odds(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The odds (N,) of a share (N,), smoothed so that a share of 1 has finite odds."""
    return (share + SMOOTHING) / (1 + SMOOTHING - share)
