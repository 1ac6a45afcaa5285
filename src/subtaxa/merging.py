"""From many small clusters to the categories: merges that mind sizes less than Ward's.

Ward's price of a merge is n·m/(n+m) times the squared distance of the means. It keeps the halves of a large category
apart longer than two small categories. Here that factor counts less: on categories of even size the result is much as
Ward's, on uneven ones the large stay whole. m small clusters of one label, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POWER = 0.75  # of Ward's factor n·m/(n+m): 1 is Ward's linkage, 0 heeds no sizes

Merges = list[tuple[float, int, int]]  # price, and which cluster takes in which, in order


def merge_order(means: NDArray[np.float64], sizes: NDArray[np.int64]) -> Merges:
    """All merges of a label's clusters, the cheapest first each time; prices never fall."""
    squares = (means**2).sum(1)
    distance = squares[:, None] + squares - 2 * means @ means.T  # (m, m) squared
    distance = np.maximum(distance, 0.0)
    sizes = sizes.astype(np.float64)
    np.fill_diagonal(distance, np.inf)
    order: Merges = []
    highest = 0.0
    for _ in range(len(means) - 1):
        price = distance * (sizes[:, None] * sizes / (sizes[:, None] + sizes)) ** POWER  # (m, m)
        i, j = (int(x) for x in np.unravel_index(price.argmin(), price.shape))
        highest = max(highest, float(price[i, j]))
        order.append((highest, i, j))
        n, m = sizes[i], sizes[j]
        apart = distance[i, j]
        row = (n * distance[i] + m * distance[j]) / (n + m) - n * m * apart / (n + m) ** 2  # of the joint mean
        row[[i, j]] = np.inf
        distance[i] = distance[:, i] = np.maximum(row, 0.0)
        distance[j] = distance[:, j] = np.inf
        sizes[i] = n + m
    return order


def merge_to(number: int, orders: Sequence[Merges], counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """For each label, which category each of its small clusters goes to, when `number` are left in all labels."""
    prices = [(price, label, step) for label, order in enumerate(orders) for step, (price, _, _) in enumerate(order)]
    done = np.bincount([label for _, label, _ in sorted(prices)[: sum(counts) - number]], minlength=len(counts))
    found = []
    for order, count, steps in zip(orders, counts, done, strict=True):
        into = np.arange(count)
        for _, i, j in order[:steps]:
            into[into == j] = i
        found.append(np.unique(into, return_inverse=True)[1])
    return found
