"""Settling: towards the end of training the texts of one found category take the place of the nearest neighbours.

Neighbours tie a text to those around it, a category ties it to all that belong together. That pays where the words of
the texts have a say in what belongs together: it is how the encoder learns it from them. It needs categories of one
size: where they are uneven, small ones are found as part of larger ones and would be lost for good. N texts, K
categories, D dimensions, k members.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints

MEMBERS = 200  # at most, the surest of a category, stand for it


def members(features: Floats, labels: Ints, clusters: Clusters) -> tuple[Ints, NDArray[np.float32]]:
    """Each text's fellow members (N, k), the surest first, and how sure they are (N, k).

    A text is sure if its category's centroid is much nearer than the next one of its label. Places beyond the end of a
    category count nothing.
    """
    similarity = features @ clusters.centroids.T  # (N, K)
    similarity[labels[:, None] != clusters.parents] = -np.inf
    own = similarity.argmax(1)  # (N,)
    rows = np.arange(len(own))
    best = similarity[rows, own]
    similarity[rows, own] = -np.inf
    margin = best - similarity.max(1)  # (N,) infinite where the label has no other category
    usual = np.median(margin[np.isfinite(margin)]) if np.isfinite(margin).any() else 1.0
    sure = np.clip(margin / max(float(usual), 1e-6), 1e-3, 1.0)  # (N,)
    sizes = np.bincount(own, minlength=len(clusters))
    order = np.lexsort((-sure, own))  # by category, in it by confidence_of
    places = np.arange(min(MEMBERS, int(sizes.max())))  # (k,)
    there = places < sizes[own][:, None]  # (N, k)
    begin = np.cumsum(sizes) - sizes  # (K,)
    fellows = order[np.where(there, begin[own][:, None] + places, begin[own][:, None])]  # (N, k)
    return fellows, (sure[fellows] * there).astype(np.float32)
