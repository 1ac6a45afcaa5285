"""Label errors: texts whose neighbours, among all texts, mostly have another coarse label.

N texts, D dimensions, k neighbours, C labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from subtaxa.clustering.neighbours import retrieve
from subtaxa.runtime.arrays import Floats, Ints

# The number of neighbours that are looked at.
NEIGHBOURS = 20

# A label is suspect if at least this share of the neighbours has one and the same other label.
SHARE = 0.8


class LabelErrors(NamedTuple):
    """The texts whose label is suspect, the most suspect first, the label of their neighbours, and its share."""

    texts: Ints  # (n,) indices
    label: Ints  # (n,)
    share: NDArray[np.float64]  # (n,)


def label_errors(features: Floats, labels: Ints, least: float = SHARE) -> LabelErrors:
    """The texts of whose neighbours at least a given share has another label."""
    share = neighbour_shares(features, labels)  # (N, C)
    own = np.arange(len(labels)), labels
    share[own] = 0.0
    other = share.argmax(1)
    weight = share.max(1)
    order = np.lexsort((np.arange(len(labels)), -weight))
    order = order[weight[order] >= least]
    return LabelErrors(order, other[order], weight[order])


def neighbour_shares(features: Floats, labels: Ints) -> NDArray[np.float64]:
    """The share (N, C) of each text's neighbours that has each label."""
    n, c, rows = len(labels), int(labels.max()) + 1, torch.from_numpy(features)
    near = retrieve(rows, rows, 1 + min(NEIGHBOURS, n - 1)).indices[:, 1:].numpy()  # (N, k), without the text itself
    votes = np.bincount((np.arange(n)[:, None] * c + labels[near]).ravel(), minlength=n * c).reshape(n, c)
    return votes / max(1, near.shape[1])
