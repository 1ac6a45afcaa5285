"""Label errors: texts whose neighbours, among all texts, mostly have another coarse label.

N texts, n of them with a suspect label, D dimensions, k neighbours, C labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from subtaxa.clustering.neighbours import retrieve
from subtaxa.runtime.arrays import Floats, Ints

# The number of neighbours of each text that vote.
NEIGHBOURS = 20

# A label is suspect if at least this share of the neighbours has the same other label.
SHARE = 0.8


class LabelErrors(NamedTuple):
    """Texts with a suspect label, the most suspect first, and the label that most of their neighbours have."""

    texts: Ints  # (n,) indices
    label: Ints  # (n,) of the neighbours
    share: NDArray[np.float64]  # (n,) of the neighbours that have this label


def label_errors(features: Floats, labels: Ints, min_share: float = SHARE) -> LabelErrors:
    """The texts for which at least `min_share` of the neighbours have the same other label."""
    share = neighbour_shares(features, labels)  # (N, C)
    share[np.arange(len(labels)), labels] = 0.0
    other = share.argmax(1)
    highest = share.max(1)
    order = np.lexsort((np.arange(len(labels)), -highest))
    order = order[highest[order] >= min_share]
    return LabelErrors(order, other[order], highest[order])


def neighbour_shares(features: Floats, labels: Ints) -> NDArray[np.float64]:
    """The share (N, C) of the neighbours of each text that have each label."""
    n, c, rows = len(labels), int(labels.max()) + 1, torch.from_numpy(features)
    near = retrieve(rows, rows, 1 + min(NEIGHBOURS, n - 1)).indices[:, 1:].numpy()  # (N, k), without the text itself
    votes = np.bincount((np.arange(n)[:, None] * c + labels[near]).ravel(), minlength=n * c).reshape(n, c)
    return votes / max(1, near.shape[1])
