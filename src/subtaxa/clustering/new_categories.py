"""New categories among new texts: places where enough of them keep to themselves.

New texts of an old category mix with its old texts. Where the neighbours of new texts are nearly all new, far more than
by chance, there was nothing before. Such texts that name each other as neighbours make a category.

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

NEIGHBOURS = 15
LIFT = 8.0  # the odds of a new neighbour, as a multiple of what chance would give


def new_categories(old: Floats, old_labels: Ints, new: Floats, new_labels: Ints, least: int) -> list[Ints]:
    """The new categories, each as the positions of at least so many new texts of one label; the largest first."""
    features = torch.from_numpy(np.concatenate([old, new]))  # (N, D)
    labels = np.concatenate([old_labels, new_labels])  # (N,)
    is_new = np.arange(len(labels)) >= len(old)  # (N,)
    near = retrieve_within(features, features, torch.from_numpy(labels), NEIGHBOURS + 1)
    mutual = reciprocal_filter(near.indices, near.valid).numpy()  # (N, 1 + k)
    indices, valid = near.indices.numpy(), near.valid.numpy().copy()
    valid[:, 0] = False  # the text itself
    alone = _odds(_share(is_new[indices] & valid, valid))
    chance = _odds(np.bincount(labels, is_new) / np.maximum(np.bincount(labels), 1))[labels]
    strange = is_new & (alone >= LIFT * chance) & valid.any(1)
    rows, columns = np.nonzero(mutual & valid & strange[:, None] & strange[indices])
    graph = csr_matrix((np.ones(len(rows)), (rows, indices[rows, columns])), shape=(len(labels), len(labels)))
    part = connected_components(graph, directed=False)[1]  # (N,)
    size = np.bincount(part[strange], minlength=int(part.max()) + 1)
    found = [np.flatnonzero(strange & (part == i)) - len(old) for i in np.flatnonzero(size >= max(2, least))]
    return sorted(found, key=lambda positions: (-len(positions), int(positions[0])))


def _share(hits: NDArray[np.bool_], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    return hits.sum(1) / np.maximum(valid.sum(1), 1)


def _odds(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return (share + 0.01) / (1.01 - share)
