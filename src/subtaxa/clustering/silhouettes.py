"""Silhouettes: how much nearer each text is to its own category than to the next one.

N texts, n of them scored, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subtaxa.runtime.arrays import Floats, Ints, means

# Mean silhouettes that differ by less than this count as equal, because float32 rounding differs between processors.
ROUNDING = 1e-8


def silhouettes(features: Floats, assignment: Ints, k: int, rows: Ints) -> NDArray[np.float64]:
    """The exact cosine silhouettes (n,) of the given rows, computed without an N x N matrix.

    The mean cosine distance from a unit vector to the members of a category is 1 minus its product with their mean.
    """
    centres, sizes = means(features, assignment, k)
    own, some = assignment[rows], np.arange(len(rows))
    distance = 1.0 - features[rows] @ centres.T.astype(np.float32)  # (n, K)
    inside = distance[some, own] * sizes[own] / np.maximum(sizes[own] - 1, 1)  # (n,) without the text itself
    distance[some, own] = np.inf
    distance[:, sizes == 0] = np.inf
    outside = distance.min(1)
    scored = (sizes[own] > 1) & np.isfinite(outside)  # a single text, or one without another category, scores 0
    score = np.zeros(len(rows))
    inside, outside = inside[scored], outside[scored]
    score[scored] = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12)
    return score


def first_best(scores: Sequence[float]) -> int:
    """The index of the highest score. Among scores that differ by no more than rounding, the first one wins."""
    return int(np.flatnonzero(np.array(scores) >= max(scores) - ROUNDING)[0])
