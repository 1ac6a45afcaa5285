"""Array types and the two helpers that every room uses.

n texts, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def unit(rows: NDArray[np.floating]) -> Floats:
    """Rows scaled to length 1."""
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def means(features: Floats, assignment: Ints, k: int) -> tuple[NDArray[np.float64], Ints]:
    """The mean (K, D) and the size (K,) of each category."""
    n = len(features)
    ones = np.ones(n, dtype=features.dtype)  # in double precision all features would be copied first
    member = csr_matrix((ones, assignment, np.arange(n + 1)), shape=(n, k))  # one 1 in each row
    sizes = np.bincount(assignment, minlength=k)
    return (member.T @ features).astype(np.float64) / np.maximum(sizes, 1)[:, None], sizes
