"""The cut of a category tree with the fewest mistakes, given how likely it is that each merge joins one category.

P parts, M merges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.category_tree import CategoryTree


def best_cut(
    tree: CategoryTree, same: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Which merges (M,) to undo, given the probability (M,) that the two sides of each are one category.

    To undo a merge whose sides are one category is a mistake, and so is to keep a merge whose sides are not. A cut
    keeps every merge below a node that it keeps. The expected number of mistakes is minimised from the bottom up;
    with `weights` (M,), not all mistakes count the same.
    """
    weights = np.ones(len(tree.children)) if weights is None else weights
    whole, best = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    undone = np.zeros(len(tree.children), dtype=bool)
    for i, (first, second) in enumerate(tree.children):
        node = tree.n_parts + i
        whole[node] = whole[first] + whole[second] + weights[i] * (1 - same[i])
        divided = best[first] + best[second] + weights[i] * same[i]
        undone[i] = divided < whole[node]
        best[node] = min(divided, whole[node])
    for i in range(len(tree.children) - 1, -1, -1):  # A merge is undone only if all merges above it are.
        above = tree.parents[tree.n_parts + i]
        undone[i] &= above < 0 or undone[above - tree.n_parts]
    return undone
