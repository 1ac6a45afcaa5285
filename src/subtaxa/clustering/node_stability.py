"""The stability of every node of a category tree: how well it is found again from a part of the texts.

N texts, P + M nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.forest import Forest
from subtaxa.runtime.arrays import Floats, Ints

# The number of trees that are built again.
RESAMPLES = 4

# The share of the texts in each of them.
SHARE = 0.8

# The largest number of texts of one label that are used.
TEXTS_PER_LABEL = 2000


def node_stability(
    tree: CategoryTree, features: Floats, labels: Ints, seed: int = 0, advance: Callable[[int], None] = lambda n: None
) -> NDArray[np.float64]:
    """The mean Jaccard overlap (P + M,) of each node with the most similar node of trees built from fewer texts."""
    rng = np.random.default_rng(seed)
    total = np.zeros(tree.n_nodes)
    each = [(np.flatnonzero(labels == label), *_of_label(tree, label)) for label in range(tree.n_labels)]
    for _ in range(RESAMPLES):
        for members, nodes, own in each:
            number = min(TEXTS_PER_LABEL, max(1, round(SHARE * len(members))))
            some = np.sort(rng.choice(members, number, replace=False))
            other = Forest(features[some], np.zeros(len(some), dtype=np.int64)).category_tree
            total[nodes] += _best_overlaps(own, other, np.searchsorted(nodes, tree.parts[some]))
            advance(len(members) // RESAMPLES)
    return total / RESAMPLES


def _of_label(tree: CategoryTree, label: int) -> tuple[Ints, CategoryTree]:
    """The nodes of a label, and its tree alone, in which they are numbered in this order."""
    nodes = np.flatnonzero(tree.labels == label)
    merges = nodes[nodes >= tree.n_parts] - tree.n_parts
    parts = np.zeros(len(nodes) - len(merges), dtype=np.int64)
    children = np.searchsorted(nodes, tree.children[merges]).reshape(-1, 2)
    return nodes, CategoryTree(np.empty(0, dtype=np.int64), parts, children, tree.heights[merges])


def _best_overlaps(tree: CategoryTree, other: CategoryTree, parts: Ints) -> NDArray[np.float64]:
    """The overlap of each node with the most similar node of the other tree, whose texts are in `parts` of ours."""
    shape = tree.n_parts, other.n_parts
    table = csr_matrix((np.ones(len(parts)), (parts, other.parts)), shape=shape).toarray()  # (P, P')
    shared = tree.sums(np.ascontiguousarray(other.sums(np.ascontiguousarray(table.T)).T))  # (nodes, nodes')
    sizes, other_sizes = tree.sums(table.sum(1)), other.sums(table.sum(0))
    union = sizes[:, None] + other_sizes - shared
    return np.asarray((shared / np.maximum(union, 1)).max(1))
