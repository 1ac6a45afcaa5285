"""Merge small clusters step by step, with less weight on their sizes than in Ward's linkage.

The cost of a merge in Ward's linkage is n·m/(n+m) times the squared distance between the means. The halves of a large
category are therefore merged later than two small categories. Here the factor n·m/(n+m) is raised to a power: the lower
the power, the less sizes matter. With unbalanced sizes, a low power keeps large categories whole, but it also chains
overlapping categories together.

m small clusters of one label, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.runtime.arrays import Ints

# Powers of Ward's factor n·m/(n+m): 1 is Ward's linkage, and 0 ignores sizes.
POWERS = (1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0)


def linkage(means: NDArray[np.float64], sizes: NDArray[np.int64], power: float, number: int = 1) -> Ints:
    """The merges (m - number, 2) in order, the cheapest first, until `number` clusters are left.

    As in scipy, small cluster i is node i, and merge i makes node m + i.
    """
    m = len(means)
    squares = (means**2).sum(1)
    distance = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0.0)  # (m, m) squared
    weight = sizes.astype(np.float64)
    cost = distance * _factor(weight[:, None], weight) ** power  # (m, m)
    np.fill_diagonal(cost, np.inf)
    nodes, gone = np.arange(m), np.zeros(m, dtype=bool)
    merges = np.empty((m - number, 2), dtype=np.int64)
    for step in range(m - number):
        i, j = sorted(int(x) for x in np.unravel_index(cost.argmin(), cost.shape))
        merges[step] = nodes[i], nodes[j]
        a, b, apart = weight[i], weight[j], distance[i, j]
        row = (a * distance[i] + b * distance[j]) / (a + b) - a * b * apart / (a + b) ** 2  # (m,) from the joint mean
        distance[i] = distance[:, i] = np.maximum(row, 0.0)
        weight[i], nodes[i], gone[j] = a + b, m + step, True
        new = distance[i] * _factor(weight, weight[i]) ** power  # (m,)
        new[gone], new[i] = np.inf, np.inf
        cost[i] = cost[:, i] = new
        cost[j] = cost[:, j] = np.inf
    return merges


def merge(means: NDArray[np.float64], sizes: NDArray[np.int64], number: int, power: float) -> Ints:
    """The category of each small cluster (m,) after repeating the cheapest merge until `number` categories are left."""
    m = len(means)
    node = np.arange(2 * m - number)  # the topmost node that each node has been merged into
    for step, pair in reversed(list(enumerate(linkage(means, sizes, power, number)))):
        node[pair] = node[m + step]
    return np.unique(node[:m], return_inverse=True)[1]


def _factor(n: NDArray[np.float64], m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ward's factor for clusters of n and m texts."""
    return np.asarray(n * m / (n + m))
