"""Categories of different labels that are alike: the same thing may be filed in two places."""

from __future__ import annotations

from typing import Any

import numpy as np

from subtaxa.taxonomy.fitted_state import FittedState

MAX_PAIRS = 12
# Categories that are less similar are not alike, whatever their siblings are.
LEAST = 0.5


def alike_across_labels(state: FittedState) -> list[list[Any]]:
    """Pairs of category ids with their similarity, the most similar first.

    One of the two is closer to the other than to any category of its own label.
    """
    centroids, parents = state.clusters.centroids, state.clusters.parents  # (K, D), (K,)
    similarity = centroids @ centroids.T  # (K, K)
    np.fill_diagonal(similarity, -np.inf)
    same = parents[:, None] == parents
    least = np.where(same, similarity, LEAST).max(1)  # (K,)
    other = np.where(same, -np.inf, similarity)  # (K, K)
    nearest, closest = other.argmax(1), other.max(1)  # (K,), (K,)
    ids, found = state.category_ids.tolist(), {}
    for i in np.flatnonzero(closest > least).tolist():
        pair = tuple(sorted((i, int(nearest[i]))))
        found[pair] = float(closest[i])
    ranked = sorted(found.items(), key=lambda item: -item[1])[:MAX_PAIRS]
    return [[ids[a], ids[b], round(near, 3)] for (a, b), near in ranked]
