"""The Ward trees of all labels, which can be cut as one.

N texts, n of them sampled, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from subtaxa.clustering.category_tree import CategoryTree, build_tree
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, Ints

# The number of texts whose silhouettes are computed to score a result.
SCORED_TEXTS = 8000


def check_number(number: int, least: int, most: int) -> None:
    """Refuse a number of categories that is out of range."""
    if not least <= number <= most:
        raise SettingError(
            f"categories is {number}: with {least} labels and {most} distinct texts it must be {least} to {most}"
        )


# If a user asks for more categories than a label usually has parts, it gets this many parts per category.
PARTS_PER_CATEGORY = 2


class Forest:
    """Features, coarse labels, and one Ward tree per label. Every category has exactly one parent label."""

    def __init__(
        self,
        features: Floats,
        labels: Ints,
        seed: int = 0,
        advance: Callable[[int], None] = lambda n: None,
        untrained: Floats | None = None,
    ) -> None:
        self.features, self.labels, self.trees, self.members = features, labels, [], []
        self.untrained = features if untrained is None else untrained  # (N, D) the features before training
        for label in range(int(labels.max()) + 1):
            self.members.append(np.flatnonzero(labels == label))
            self.trees.append(WardTree(features[self.members[-1]], seed))
            advance(len(self.members[-1]))

    def max_categories(self, fixed: Mapping[int, int] | None = None) -> int:
        """The largest possible number of categories, given the `fixed` numbers of some labels."""
        return sum((fixed or {}).get(label, tree.n_leaves) for label, tree in enumerate(self.trees))

    @cached_property
    def category_tree(self) -> CategoryTree:
        """The tree of categories, from which `recut` takes its cuts."""
        return build_tree(self.features, self.members, self.trees)

    def tree_with(self, numbers: Sequence[int]) -> CategoryTree:
        """The tree of categories. It is rebuilt with more parts if label i is to have more categories than parts."""
        if (np.array(numbers) > self.category_tree.max_numbers).any():
            wanted = [PARTS_PER_CATEGORY * number for number in numbers]
            self.category_tree = build_tree(self.features, self.members, self.trees, wanted)
        return self.category_tree

    def sample(self) -> Ints:
        """A fixed random sample of the texts (n,), on which results are scored."""
        return np.sort(np.random.default_rng(0).permutation(len(self.features))[:SCORED_TEXTS])

    def divide(self, total: int, fixed: Mapping[int, int] | None = None) -> list[int]:
        """Divide a total number of categories among the labels.

        The division is the cut through all trees that leaves the smallest within-category variance. Labels with a
        `fixed` number keep it.
        """
        least = [1] * len(self.trees)
        free = list(range(len(self.trees)))
        for label, own in (fixed or {}).items():
            least[label] = own
            free.remove(label)
        check_number(total, sum(least), sum(least) + sum(self.trees[i].n_leaves - 1 for i in free))
        each = [self.trees[i].gains for i in free]
        gains = np.concatenate([np.empty(0), *each])
        owners = np.repeat(free, list(map(len, each))).astype(np.int64)
        chosen = owners[np.argsort(-gains, kind="stable")[: total - sum(least)]]
        return (np.array(least) + np.bincount(chosen, minlength=len(least))).tolist()

    def cut(self, numbers: Sequence[int]) -> Ints:
        """The category of each text (N,) when each tree is cut into its number, counted across all labels."""
        assignment = np.empty(len(self.features), dtype=np.int64)
        begin = 0
        for tree, members, k in zip(self.trees, self.members, numbers, strict=True):
            assignment[members] = begin + tree.cut(k)
            begin += k
        return assignment
