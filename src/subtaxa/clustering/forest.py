"""The Ward trees of all labels, which can be cut as one.

N texts, n of them sampled, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, Ints

# A subsampled forest keeps at least this many texts of each label.
SMALLEST_LABEL = 50

# The number of texts whose silhouettes are computed to score a result.
SCORED_TEXTS = 8000


def check_number(number: int, least: int, most: int) -> None:
    """Refuse a number of categories that is out of range."""
    if not least <= number <= most:
        raise SettingError(
            f"categories is {number}: with {least} labels and {most} distinct texts it must be {least} to {most}"
        )


class Forest:
    """Features, coarse labels, and one Ward tree per label. Every category has exactly one parent label."""

    # Whether all categories are to have the same size.
    balanced = False

    def __init__(
        self, features: Floats, labels: Ints, seed: int = 0, advance: Callable[[int], None] = lambda n: None
    ) -> None:
        self.features, self.labels, self.trees, self.members = features, labels, [], []
        for label in range(int(labels.max()) + 1):
            self.members.append(np.flatnonzero(labels == label))
            self.trees.append(WardTree(features[self.members[-1]], seed))
            advance(len(self.members[-1]))

    def max_categories(self, fixed: Mapping[int, int] | None = None) -> int:
        """The largest possible number of categories, given the `fixed` numbers of some labels."""
        return sum((fixed or {}).get(label, tree.n_leaves) for label, tree in enumerate(self.trees))

    def as_balanced(self) -> Forest:
        """The same trees, to be divided into categories of equal size."""
        same = copy(self)
        same.balanced = True
        return same

    def sample(self) -> Ints:
        """A fixed random sample of the texts (n,), on which results are scored."""
        return np.sort(np.random.default_rng(0).permutation(len(self.features))[:SCORED_TEXTS])

    def subsample(self, number: int) -> Forest:
        """The same trees with about `number` of the texts, from every label; the forest itself if it has no more."""
        if len(self.features) <= number:
            return self
        rng, share = np.random.default_rng(0), number / len(self.features)
        left = [
            np.sort(rng.permutation(len(own))[: max(SMALLEST_LABEL, round(share * len(own)))]) for own in self.members
        ]
        rows = np.concatenate([own[some] for own, some in zip(self.members, left, strict=True)])
        smaller = copy(self)
        smaller.features, smaller.labels = self.features[rows], self.labels[rows]
        smaller.members = [np.flatnonzero(smaller.labels == label) for label in range(len(self.trees))]
        smaller.trees = [tree.restricted_to(some) for tree, some in zip(self.trees, left, strict=True)]
        return smaller

    def divide(self, total: int, fixed: Mapping[int, int] | None = None) -> list[int]:
        """Divide a total number of categories among the labels.

        The division is the cut through all trees that leaves the smallest within-category variance or, if categories
        are balanced, in proportion to the texts. Labels with a `fixed` number keep it.
        """
        least = [1] * len(self.trees)
        free = list(range(len(self.trees)))
        for label, own in (fixed or {}).items():
            least[label] = own
            free.remove(label)
        check_number(total, sum(least), sum(least) + sum(self.trees[i].n_leaves - 1 for i in free))
        each = [self._gains(self.trees[i]) for i in free]
        gains = np.concatenate([np.empty(0), *each])
        owners = np.repeat(free, list(map(len, each))).astype(np.int64)
        chosen = owners[np.argsort(-gains, kind="stable")[: total - sum(least)]]
        return (np.array(least) + np.bincount(chosen, minlength=len(least))).tolist()

    def _gains(self, tree: WardTree) -> NDArray[np.float64]:
        """The value of each further category of a label, largest first; for balanced categories by Sainte-Laguë."""
        return tree.n_texts / (np.arange(1, tree.n_leaves) + 0.5) if self.balanced else tree.gains

    def cut(self, numbers: Sequence[int]) -> Ints:
        """The category of each text (N,) when each tree is cut into its number, counted across all labels."""
        assignment = np.empty(len(self.features), dtype=np.int64)
        begin = 0
        for tree, members, k in zip(self.trees, self.members, numbers, strict=True):
            assignment[members] = begin + tree.cut(k)
            begin += k
        return assignment
