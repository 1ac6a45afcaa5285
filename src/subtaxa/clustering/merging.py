"""Merge many small clusters into categories, with less weight on their sizes than in Ward's linkage.

The cost of a merge in Ward's linkage is n·m/(n+m) times the squared distance between the means. The halves of a large
category are therefore merged later than two small categories. Here the factor n·m/(n+m) is raised to a power: the lower
the power, the less sizes matter. With unbalanced sizes, a low power keeps large categories whole, but it also chains
overlapping categories together.

m small clusters of one label, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Powers of Ward's factor n·m/(n+m): 1 is Ward's linkage, and 0 ignores sizes.
POWERS = (1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0)


def merge(means: NDArray[np.float64], sizes: NDArray[np.int64], number: int, power: float) -> NDArray[np.int64]:
    """The category of each small cluster (m,) after repeating the cheapest merge until `number` categories are left."""
    squares = (means**2).sum(1)
    distance = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0.0)  # (m, m) squared
    np.fill_diagonal(distance, np.inf)
    sizes = sizes.astype(np.float64)
    into = np.arange(len(means))
    for _ in range(len(means) - number):
        cost = distance * (sizes[:, None] * sizes / (sizes[:, None] + sizes)) ** power  # (m, m)
        i, j = (int(x) for x in np.unravel_index(cost.argmin(), cost.shape))
        n, m, apart = sizes[i], sizes[j], distance[i, j]
        row = (n * distance[i] + m * distance[j]) / (n + m) - n * m * apart / (n + m) ** 2  # (m,) from the joint mean
        row[[i, j]] = np.inf
        distance[i] = distance[:, i] = np.maximum(row, 0.0)
        distance[j] = distance[:, j] = np.inf
        sizes[i] = n + m
        into[into == j] = i
    return np.unique(into, return_inverse=True)[1]
