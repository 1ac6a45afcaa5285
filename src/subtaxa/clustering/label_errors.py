"""Coarse labels that look wrong: texts whose neighbours, among all texts, overwhelmingly carry another label.

N texts, D dimensions, k neighbours, C labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from subtaxa.clustering.neighbours import retrieve
from subtaxa.runtime.arrays import Floats, Ints

NEIGHBOURS = 20
OVERWHELMING = 0.8  # of the neighbours


class Suspects(NamedTuple):
    """Positions of suspect texts, the most suspect first, the label that their neighbours carry, and how many do."""

    texts: Ints
    label: Ints
    share: NDArray[np.float64]


def suspect_labels(features: Floats, labels: Ints) -> Suspects:
    """Texts of which most neighbours are marked otherwise."""
    share = neighbour_shares(features, labels)  # (N, C)
    own = np.arange(len(labels)), labels
    share[own] = 0.0
    other = share.argmax(1)
    weight = share.max(1)
    order = np.lexsort((np.arange(len(labels)), -weight))
    order = order[weight[order] >= OVERWHELMING]
    return Suspects(order, other[order], weight[order])


def neighbour_shares(features: Floats, labels: Ints) -> NDArray[np.float64]:
    """The share (N, C) of each text's neighbours that is marked with each label."""
    n, c, rows = len(labels), int(labels.max()) + 1, torch.from_numpy(features)
    near = retrieve(rows, rows, 1 + min(NEIGHBOURS, n - 1)).indices[:, 1:].numpy()  # (N, k), without the text itself
    votes = np.bincount((np.arange(n)[:, None] * c + labels[near]).ravel(), minlength=n * c).reshape(n, c)
    return votes / max(1, near.shape[1])
