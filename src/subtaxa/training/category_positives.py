"""Category positives: towards the end of training, the texts of one category replace the nearest neighbours.

A neighbour ties a text to the texts around it; a category ties it to all of its members. This helps where texts are
compared by lexical features too, because the encoder then learns from them. It requires categories of about the same
size: small categories are otherwise found as parts of larger ones and would be lost.
N texts, K categories, D dimensions, k members.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints

MEMBERS = 200  # The largest number of positives per text: the most confident members of the category.


def members(features: Floats, labels: Ints, clusters: Clusters) -> tuple[Ints, NDArray[np.float32]]:
    """The members of each text's category (N, k), the most confident first, and their confidence (N, k).

    The confidence of a text is the margin by which its category's centroid is nearer than the next one of its label, as
    a share of the median margin. Columns beyond the size of a category have confidence 0.
    """
    similarity = features @ clusters.centroids.T  # (N, K)
    similarity[labels[:, None] != clusters.parents] = -np.inf
    own = similarity.argmax(1)  # (N,)
    rows = np.arange(len(own))
    best = similarity[rows, own]
    similarity[rows, own] = -np.inf
    margin = best - similarity.max(1)  # (N,) infinite if the label has only one category
    typical = np.median(margin[np.isfinite(margin)]) if np.isfinite(margin).any() else 1.0
    confidence = np.clip(margin / max(float(typical), 1e-6), 1e-3, 1.0)  # (N,)
    sizes = np.bincount(own, minlength=len(clusters))
    order = np.lexsort((-confidence, own))  # (N,) by category, then by confidence
    ranks = np.arange(min(MEMBERS, int(sizes.max())))  # (k,)
    present = ranks < sizes[own][:, None]  # (N, k)
    starts = np.cumsum(sizes) - sizes  # (K,)
    listed = order[np.where(present, starts[own][:, None] + ranks, starts[own][:, None])]  # (N, k)
    return listed, (confidence[listed] * present).astype(np.float32)
