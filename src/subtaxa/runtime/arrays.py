"""Array types and helpers that every room uses.

n texts, K categories, D dimensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

# No number that subtaxa writes is larger than this. The square of a much larger one would be infinite.
LARGEST = 1e6


def unit(rows: NDArray[np.floating]) -> Floats:
    """The rows scaled to unit length. A row of zeros stays as it is."""
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def within(array: NDArray[np.floating], low: float, high: float) -> bool:
    """Whether all numbers of an array are in a range."""
    return not array.size or bool(array.min() >= low and array.max() <= high)


def means(features: Floats, assignment: Ints, k: int) -> tuple[NDArray[np.float64], Ints]:
    """The mean (K, D) and the size (K,) of each category. The mean of an empty category is zero."""
    n = len(features)
    ones = np.ones(n, dtype=features.dtype)  # With another type, all features would be copied.
    member = csr_matrix((ones, assignment, np.arange(n + 1)), shape=(n, k))  # Each row holds a single 1.
    sizes = np.bincount(assignment, minlength=k)
    return (member.T @ features).astype(np.float64) / np.maximum(sizes, 1)[:, None], sizes


def distinct(keys: Iterable[Hashable]) -> tuple[Ints, Ints]:
    """The position of the first key of each kind (P,), in order, and the kind of each key (N,)."""
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    return np.unique(kinds, return_index=True)[1].astype(np.int64), kinds


def unique_rows(rows: NDArray[np.floating]) -> tuple[NDArray[np.floating], Ints]:
    """The distinct rows (P, D), sorted, and the number of each row (N,) among them.

    `np.unique(rows, axis=0)` gives the same, but takes minutes where many rows are equal.
    """
    first, kind = distinct(hashlib.blake2b(row, digest_size=16).digest() for row in np.ascontiguousarray(rows))
    points, number = np.unique(rows[first], axis=0, return_inverse=True)
    return points, number.ravel()[kind]
