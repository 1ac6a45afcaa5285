"""Training texts whose category is not the one with the nearest centroid.

A training text with the coarse label "billing" belongs to a billing category even if the centroid of a login category
is slightly nearer. The few texts for which this matters are stored as hashes, so that predicting them gives the same
category as training.

N training texts, M of them stored, n texts looked up, B in a block, K categories.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import BLOCK, Clusters
from subtaxa.runtime.arrays import Floats, Ints

# Two similarities that differ by less than this may swap their order if the texts are batched differently.
CLOSE = 1e-4


@dataclass(frozen=True)
class KnownTexts:
    """Sorted hashes of texts, and the category of each."""

    keys: NDArray[np.uint64]  # (M,)
    categories: Ints  # (M,)

    @classmethod
    def of(cls, texts: Sequence[str], features: Floats, assignment: Ints, clusters: Clusters) -> KnownTexts:
        """The texts for which another centroid is nearer than that of their category, or almost as near."""
        ambiguous = np.flatnonzero(_ambiguous(features, assignment, clusters))
        votes: dict[int, Counter[int]] = {_key(texts[i]): Counter() for i in ambiguous.tolist()}
        for text, category in zip(texts, assignment.tolist(), strict=True) if votes else ():
            if (key := _key(text)) in votes:  # All copies of a text vote, including those that are not ambiguous.
                votes[key][category] += 1
        keys = sorted(votes)
        return cls(
            np.array(keys, dtype=np.uint64),
            np.array([votes[key].most_common(1)[0][0] for key in keys], dtype=np.int64),
        )

    def lookup(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], Ints]:
        """Which texts are known (n,), and their categories (n,), which have no meaning for the other texts."""
        if not len(self.keys):
            return np.zeros(len(texts), dtype=bool), np.zeros(len(texts), dtype=np.int64)
        keys = np.array([_key(text) for text in texts], dtype=np.uint64)
        index = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return self.keys[index] == keys, self.categories[index]


def _ambiguous(features: Floats, assignment: Ints, clusters: Clusters) -> NDArray[np.bool_]:
    """Whether another centroid is nearer to each text (N,) than that of its category, or almost as near."""
    found = np.empty(len(features), dtype=bool)
    for start in range(0, len(features), BLOCK):
        block = slice(start, start + BLOCK)
        similarity = features[block] @ clusters.centroids.T  # (B, K)
        rows, own = np.arange(len(similarity)), assignment[block]
        nearest = similarity[rows, own]  # (B,)
        similarity[rows, own] = -np.inf
        found[block] = similarity.max(1) > nearest - CLOSE
    return found


def _key(text: str) -> int:
    """A 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
