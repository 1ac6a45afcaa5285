"""Training texts that are filed by their known coarse label and not by the nearest centroid alone.

A text that its owner marked "billing" belongs to a billing category even if a login centroid is a little nearer. The
few texts where the two differ are remembered by a hash, so that predicting them gives what training gave.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints

CLOSE = 1e-4  # similarities nearer than this may change places when texts are batched differently


@dataclass(frozen=True)
class KnownTexts:
    """Hashes of texts, sorted, and the category of each."""

    keys: NDArray[np.uint64]  # (M,)
    categories: Ints  # (M,)

    @classmethod
    def of(cls, texts: Sequence[str], features: Floats, assignment: Ints, clusters: Clusters) -> KnownTexts:
        """Remember every text whose nearest centroid is not its category's, or is so only by a hair."""
        similarity = features @ clusters.centroids.T  # (N, K)
        rows = np.arange(len(texts))
        own = similarity[rows, assignment]
        similarity[rows, assignment] = -np.inf
        doubtful = np.flatnonzero(similarity.max(1) > own - CLOSE)
        votes: dict[int, Counter[int]] = {_key(texts[i]): Counter() for i in doubtful.tolist()}
        for text, category in zip(texts, assignment.tolist(), strict=True) if votes else ():
            if (key := _key(text)) in votes:  # all copies of a text vote, also the undoubted ones
                votes[key][category] += 1
        keys = sorted(votes)
        return cls(
            np.array(keys, dtype=np.uint64),
            np.array([votes[key].most_common(1)[0][0] for key in keys], dtype=np.int64),
        )

    def lookup(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], Ints]:
        """Which texts are remembered (n,), and their categories (n,), meaningful only where they are."""
        if not len(self.keys):
            return np.zeros(len(texts), dtype=bool), np.zeros(len(texts), dtype=np.int64)
        keys = np.array([_key(text) for text in texts], dtype=np.uint64)
        place = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return self.keys[place] == keys, self.categories[place]


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
