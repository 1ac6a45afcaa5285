"""The tree of categories: fine parts below each label, and how they merge. A cut through it is one set of categories.

The parts are small clusters, about 2·√n of them for a label with n texts. They are merged two at a time until one
cluster per label is left. Small categories are kept apart from the halves of large ones by a merge cost that gives
sizes less weight than Ward's (`merging.py`). A cut into a given total undoes the costliest merges.

N texts, L labels, P parts, M = P - L merges, P + M nodes, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.kmeans import spherical_kmeans
from subtaxa.clustering.merging import linkage
from subtaxa.clustering.ward_tree import WardTree
from subtaxa.errors import SettingError
from subtaxa.runtime.arrays import Floats, Ints, means, unit

# The power of Ward's factor in the cost of a merge.
POWER = 0.75

# A label with n texts has this many times √n parts, if it has as many distinct texts.
PARTS = 2.0

# In a label with at least this many texts, a single text is no part of its own.
FEW_TEXTS = 50

# A label has at least this many parts, if it has as many distinct texts.
MIN_PARTS = 8


Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class CategoryTree:
    """The trees of all labels. Node i < P is a part, and node P + i is made by merge i.

    The merges of all labels are in one order: a cut into K categories undoes the last K - L of them.
    """

    parts: Ints  # (N,) the part of each text
    part_labels: Ints  # (P,) the coarse label of each part
    children: Ints  # (M, 2) nodes
    heights: NDArray[np.float64]  # (M,) the cost of each merge, made monotone

    @property
    def n_parts(self) -> int:
        return len(self.part_labels)

    @property
    def n_nodes(self) -> int:
        return self.n_parts + len(self.children)

    @property
    def n_labels(self) -> int:
        return self.n_parts - len(self.children)

    @cached_property
    def parents(self) -> Ints:
        """The node above each node (P + M,), or -1."""
        above = np.full(self.n_nodes, -1)
        above[self.children] = np.arange(self.n_parts, self.n_nodes)[:, None]
        return above

    @cached_property
    def labels(self) -> Ints:
        """The coarse label of each node (P + M,)."""
        label = np.concatenate([self.part_labels, np.zeros(len(self.children), dtype=np.int64)])
        for node, (child, _) in enumerate(self.children, self.n_parts):
            label[node] = label[child]
        return label

    @cached_property
    def spans(self) -> tuple[Ints, Ints, Ints]:
        """The parts in an order (P,) in which those of each node follow one another, and where they begin and end."""
        size = np.ones(self.n_nodes, dtype=np.int64)
        for node, pair in enumerate(self.children, self.n_parts):
            size[node] = size[pair].sum()
        begin = np.zeros(self.n_nodes, dtype=np.int64)
        roots = np.flatnonzero(self.parents < 0)
        begin[roots] = np.cumsum(size[roots]) - size[roots]
        for node in range(self.n_nodes - 1, self.n_parts - 1, -1):
            first, second = self.children[node - self.n_parts]
            begin[first], begin[second] = begin[node], begin[node] + size[first]
        return np.argsort(begin[: self.n_parts]), begin, begin + size

    def parts_of(self, node: int) -> Ints:
        """The parts below a node."""
        order, begin, end = self.spans
        return order[begin[node] : end[node]]

    def sums(self, values: NDArray[Number]) -> NDArray[Number]:
        """The sum over the parts of each node (P + M, ...), given a value for each part (P, ...)."""
        total = np.concatenate([values, np.zeros((len(self.children), *values.shape[1:]), dtype=values.dtype)])
        for node, (first, second) in enumerate(self.children, self.n_parts):
            total[node] = total[first] + total[second]
        return total

    @cached_property
    def sizes(self) -> Ints:
        """The number of texts of each node (P + M,)."""
        return self.sums(np.bincount(self.parts, minlength=self.n_parts).astype(np.int64))

    def means(self, features: Floats) -> NDArray[np.float64]:
        """The mean feature of each node (P + M, D)."""
        own, sizes = means(features, self.parts, self.n_parts)
        return self.sums(own * sizes[:, None]) / np.maximum(self.sizes, 1)[:, None]

    def cut(self, total: int, fixed: Mapping[int, int] | None = None) -> Ints:
        """The nodes (K,) of a cut into `total` categories. Labels with a `fixed` number have that many."""
        fixed = fixed or {}
        for label, number in fixed.items():
            if not 1 <= number <= self.max_numbers[label]:
                own = self.max_numbers[label]
                raise SettingError(f"categories is {number} for a label: the tree has 1 to {own} of that label")
        most = [fixed.get(label, int(number)) for label, number in enumerate(self.max_numbers)]
        least = sum(fixed.get(label, 1) for label in range(self.n_labels))
        if not least <= total <= sum(most):
            raise SettingError(f"categories is {total}: the tree has {least} to {sum(most)} categories")
        owners = self.labels[self.n_parts :]  # (M,)
        undone = np.zeros(len(self.children), dtype=bool)
        for label, number in fixed.items():
            undone[np.flatnonzero(owners == label)[::-1][: number - 1]] = True
        free = np.flatnonzero(~np.isin(owners, list(fixed)))[::-1]
        undone[free[: total - least]] = True
        return self.below(undone)

    @property
    def max_numbers(self) -> Ints:
        """The number of parts of each label (L,), which is the largest number of categories it can have."""
        return np.bincount(self.part_labels)

    def below(self, undone: NDArray[np.bool_]) -> Ints:
        """The nodes of the cut that undoes these merges (M,), each together with the merges above it."""
        split = np.concatenate([np.zeros(self.n_parts, dtype=bool), undone])
        above = self.parents
        return np.flatnonzero(~split & ((above < 0) | split[above]))

    def numbers(self, cut: Ints) -> list[int]:
        """The number of categories of each label in a cut."""
        return np.bincount(self.labels[cut], minlength=self.n_labels).tolist()

    def index_of_parts(self, groups: Iterable[Iterable[int]]) -> Ints:
        """The group of each part (P,), where a group is a set of nodes; -1 for a part in no group."""
        index = np.full(self.n_parts, -1)
        for i, nodes in enumerate(groups):
            for node in nodes:
                index[self.parts_of(node)] = i
        return index

    def clusters(self, features: Floats, groups: Sequence[Iterable[int]]) -> Clusters:
        """The categories of these groups of nodes, which must cover every part: unit centroids after k-means.

        K-means inside each label puts texts right that a merge left on the wrong side.
        """
        index = self.index_of_parts(groups)  # (P,)
        assignment = index[self.parts]  # (N,)
        start = unit(means(features, assignment, len(groups))[0])
        labels = np.zeros(len(groups), dtype=np.int64)
        labels[index] = self.part_labels
        centroids = start.copy()
        text_labels = self.part_labels[self.parts]
        for label in range(self.n_labels):
            own = np.flatnonzero(labels == label)
            centroids[own] = spherical_kmeans(features[text_labels == label], start[own])
        return Clusters(centroids, labels)

    def extended(self, parts: Ints, new_labels: Sequence[int]) -> CategoryTree:
        """The tree with more texts, given their parts; part P + i is a new one below the label `new_labels[i]`.

        A new part joins the tree of its label at the top. `renumbered` gives the new numbers of the nodes.
        """
        n, new = self.n_parts, len(new_labels)
        top = {int(self.labels[node]): self.renumbered(int(node), new) for node in np.flatnonzero(self.parents < 0)}
        children = [np.where(self.children < n, self.children, self.children + new)]
        height = float(self.heights.max(initial=0.0))
        for i, label in enumerate(new_labels):
            children.append(np.array([[top[label], n + i]]))
            top[label] = n + new + len(self.children) + i
        return CategoryTree(
            np.concatenate([self.parts, parts]),
            np.concatenate([self.part_labels, np.array(new_labels, dtype=np.int64)]),
            np.concatenate(children),
            np.concatenate([self.heights, np.full(new, height)]),
        )

    def renumbered(self, node: int, n_new: int) -> int:
        """The number of a node after `n_new` parts were added."""
        return node if node < self.n_parts else node + n_new

    def nodes_of(self, parts: Iterable[int]) -> tuple[int, ...]:
        """The fewest nodes that together have exactly these parts."""
        inside = np.zeros(self.n_nodes, dtype=bool)
        inside[list(parts)] = True
        for node, pair in enumerate(self.children, self.n_parts):
            inside[node] = inside[pair].all()
        above = self.parents
        return tuple(np.flatnonzero(inside & ~((above >= 0) & inside[above])).tolist())


def build_tree(
    features: Floats, members: Sequence[Ints], trees: Sequence[WardTree], least_parts: Sequence[int] | None = None
) -> CategoryTree:
    """The tree of texts with these features (N, D), given the texts of each label and their Ward trees.

    With `least_parts`, label i has at least `least_parts[i]` parts, if it has as many distinct texts.
    """
    parts, part_labels, merges, begin = np.empty(len(features), dtype=np.int64), list[int](), [], 0
    for label, (own, tree) in enumerate(zip(members, trees, strict=True)):
        part = _parts(tree, 0 if least_parts is None else least_parts[label])  # (n,)
        centres, sizes = means(tree.features, part, int(part.max()) + 1)
        merges.append(linkage(centres, sizes, POWER))
        parts[own] = begin + part
        part_labels += [label] * len(sizes)
        begin += len(sizes)
    return ordered_tree(features, parts, np.array(part_labels), merges)


def ordered_tree(features: Floats, parts: Ints, part_labels: Ints, merges: Sequence[Ints]) -> CategoryTree:
    """The tree with the merges of each label, numbered inside the label, in one order: by their cost.

    A merge never comes before one that it depends on.
    """
    n_parts = np.bincount(part_labels)
    begin = np.cumsum(n_parts) - n_parts
    total = len(part_labels)
    pairs, offset = [], total
    for own, first, count in zip(merges, begin, n_parts, strict=True):
        pairs.append(np.where(own < count, own + first, own - count + offset))
        offset += len(own)
    children = np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])  # (M, 2) label by label
    by_label = CategoryTree(parts, part_labels, children, np.zeros(len(children)))
    centres, sizes = by_label.means(features), by_label.sizes
    first, second = children.T
    factor = sizes[first] * sizes[second] / np.maximum(sizes[first] + sizes[second], 1)  # (M,)
    height = ((centres[first] - centres[second]) ** 2).sum(1) * factor**POWER
    for i, pair in enumerate(children):
        lower = pair[pair >= total] - total
        height[i] = max(height[i], *height[lower], 0.0)
    order = np.argsort(height, kind="stable")
    rank = np.concatenate([np.arange(total), total + np.argsort(order)])
    return CategoryTree(parts, part_labels, rank[children[order]], height[order])


def _parts(tree: WardTree, least: int) -> Ints:
    """The part (n,) of each text of one label."""
    features = tree.features
    number = min(tree.n_leaves, max(least, MIN_PARTS, round(PARTS * len(features) ** 0.5)))
    start = unit(means(features, tree.cut(number), number)[0])
    nearest = Clusters(spherical_kmeans(features, start), np.zeros(number, dtype=np.int64)).nearest(features)
    if least == 0 and len(features) >= FEW_TEXTS:
        return _without_strays(features, nearest)
    found = np.unique(nearest, return_inverse=True)[1]
    return found if found.max() + 1 == number else tree.cut(number)  # K-means may leave a part empty.


def _without_strays(features: Floats, parts: Ints) -> Ints:
    """The parts (n,) without those of a single text, which joins the nearest other part."""
    sizes = np.bincount(parts)
    kept = np.flatnonzero(sizes > 1)
    if not len(kept):
        return np.unique(parts, return_inverse=True)[1]
    centroids = unit(means(features, parts, len(sizes))[0][kept])
    stray = sizes[parts] == 1
    moved = parts.copy()
    moved[stray] = kept[(features[stray] @ centroids.T).argmax(1)]
    return np.unique(moved, return_inverse=True)[1]
