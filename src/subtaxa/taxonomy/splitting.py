"""Divide the texts of one category into parts by their features.

n texts of the category, D dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subtaxa.clustering.forest import Forest
from subtaxa.clustering.merging import POWERS
from subtaxa.clustering.rules import MergedRule, find_categories
from subtaxa.clustering.rules.balanced import START_POWER
from subtaxa.clustering.silhouettes import silhouettes
from subtaxa.runtime.arrays import Floats, Ints, unique_rows

# If no number of parts is given, 2 to this many are tried.
MAX_PARTS = 8

# A part should have at least this many texts.
MIN_PART_TEXTS = 3

# A part should have at least one in this many of the texts.
MIN_PART_DIVISOR = 20

# A part should have at least the average number of texts divided by this, if that is less.
AVERAGE_DIVISOR = 4


class _Division(NamedTuple):
    """A division and its quality. The first three fields are compared in this order, and higher is better."""

    filled: float  # the share of the requested parts that have a text
    smallest: float  # the size of the smallest part relative to the minimum, at most 1
    silhouette: float  # the mean over all texts
    part: Ints  # (n,)


def divide(features: Floats, into: int | None = None) -> Ints:
    """The part of each text (n,), in the given number of parts or the one with the highest mean silhouette.

    Divisions with a part of a few stray texts come last, because splitting off stray texts always looks clear.
    """
    most = len(unique_rows(features)[0])
    numbers = range(2, max(3, min(MAX_PARTS, most - 1, len(features) // 2) + 1)) if into is None else [into]
    forest = Forest(features, np.zeros(len(features), dtype=np.int64))
    rows = forest.sample()

    def divided(number: int, power: float) -> _Division:
        nearest = find_categories(forest, [number], rule=MergedRule([power])).nearest(features)
        scores = silhouettes(features, nearest, number, rows)
        part = np.unique(nearest, return_inverse=True)[1]  # (n,)
        sizes = np.bincount(part)
        enough = max(MIN_PART_TEXTS, len(features) / max(MIN_PART_DIVISOR, AVERAGE_DIVISOR * number))
        return _Division(len(sizes) / number, min(1.0, sizes.min() / enough), float(scores.mean()), part)

    divisions = [divided(number, power) for number in numbers for power in (*POWERS, START_POWER)]
    return max(divisions, key=lambda division: division[:3]).part
