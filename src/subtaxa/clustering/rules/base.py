"""The interface of a cluster rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.runtime.arrays import Ints
from subtaxa.settings import Settings


class ClusterRule:
    """One way to form a given number of categories below each label.

    A rule is made without arguments or with keyword arguments that have defaults, and `fit` is all it must define.
    """

    about: ClassVar[str]

    @classmethod
    def from_settings(cls, settings: Settings) -> ClusterRule:
        """The rule with the values that a user has set."""
        return cls()

    def cut(self, forest: Forest, numbers: Sequence[int]) -> Ints | None:
        """The nodes of the category tree that the categories of `fit` stand for, in order; None if they do not."""
        return None

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        """The categories of `forest.features` below `forest.labels`: `numbers[i]` of them below label i, in order."""
        raise NotImplementedError(f"{type(self).__name__} has no fit")
