"""Label errors: texts whose neighbours, among all texts, mostly have another coarse label.

N texts, n of them with a suspect label, D dimensions, k neighbours.
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
    other, share = other_labels(features, labels)
    order = np.lexsort((np.arange(len(labels)), -share))
    order = order[(share[order] >= min_share) & (share[order] > 0)]
    return LabelErrors(order, other[order], share[order])


def other_labels(features: Floats, labels: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """The other label that most neighbours of each text have (N,), and their share (N,), which can be 0.

    Of labels that equally many neighbours have, it is the first.
    """
    n, rows = len(labels), torch.from_numpy(features)
    if n == 1:
        return labels.copy(), np.zeros(1)
    near = retrieve(rows, rows, 1 + min(NEIGHBOURS, n - 1)).indices[:, 1:].numpy()  # (N, k), without the text itself
    found = np.sort(labels[near], axis=1)  # (N, k)
    votes = np.stack([(found == column[:, None]).sum(1) for column in found.T], axis=1)  # (N, k) of the same label
    votes[found == labels[:, None]] = 0
    best = votes.argmax(1)[:, None]  # (N, 1)
    return np.take_along_axis(found, best, 1)[:, 0], np.take_along_axis(votes, best, 1)[:, 0] / near.shape[1]
