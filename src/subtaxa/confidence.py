"""How sure an assignment is: a softmax over centroid similarities whose temperature is learned without gold labels.

Texts are clustered anew on resamples. Where the resampled clusterings agree about a text, the softmax should be sure;
where they disagree, it should not. One temperature is fitted to that agreement by maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.cluster import KMeans

from subtaxa.clustering import Clusters, Floats, Ints, unit

RESAMPLES = 5
AT_MOST = 2000  # texts per label that are clustered anew
UNKNOWN = 0.05  # temperature when no label has two categories to compare


def probabilities(
    features: Floats, clusters: Clusters, temperature: float, labels: Ints | None = None
) -> NDArray[np.float64]:
    """The probability of each category (N, K); zero outside the coarse label where that is known."""
    logits = (features @ clusters.centroids.T).astype(np.float64) / temperature  # (N, K)
    if labels is not None:
        logits[labels[:, None] != clusters.parents] = -np.inf
    return softmax(logits, axis=1)


def calibrate(
    features: Floats,
    labels: Ints,
    clusters: Clusters,
    seed: int = 0,
    advance: Callable[[int], None] = lambda n: None,
) -> float:
    """The temperature under which resampled clusterings are most likely."""
    rng = np.random.default_rng(seed)
    sides: list[tuple[NDArray[np.float64], Ints]] = []  # similarities (n, K_c) and resampled categories (n,)
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        advance(len(members))
        own = clusters.centroids[clusters.parents == label]  # (K_c, D)
        if len(own) < 2 or len(members) < 2 * len(own):
            continue
        if len(members) > AT_MOST:
            members = np.sort(rng.choice(members, AT_MOST, replace=False))
        rows = features[members]  # (n, D)
        similarity = (rows @ own.T).astype(np.float64)
        for _ in range(RESAMPLES):
            sides.append((similarity, _clustered_anew(rows, own, rng)))
    if not sides:
        return UNKNOWN

    def surprise(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return -sum(
            float(log_softmax(similarity * scale, axis=1)[np.arange(len(again)), again].sum())
            for similarity, again in sides
        )

    return float(np.exp(minimize_scalar(surprise, bounds=(np.log(0.005), np.log(1.0)), method="bounded").x))


def _clustered_anew(rows: Floats, own: Floats, rng: np.random.Generator) -> Ints:
    """The category of each text by k-means on a bootstrap sample, its clusters matched to ours."""
    sample = rows[rng.integers(len(rows), size=len(rows))]
    k = min(len(own), len(np.unique(sample, axis=0)))
    centres = unit(KMeans(k, n_init=5, random_state=int(rng.integers(2**31))).fit(sample).cluster_centers_)
    theirs, ours = linear_sum_assignment(-(centres @ own.T))
    match = np.zeros(k, dtype=np.int64)
    match[theirs] = ours
    return match[(rows @ centres.T).argmax(1)]
