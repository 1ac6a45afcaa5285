"""The category tree as people see it: every node has a name, keywords, examples and a stability.

N texts, P parts, P + M nodes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Floats, unit
from subtaxa.taxonomy.examples import representatives
from subtaxa.taxonomy.naming import name_nodes
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrase_space import Embed

# The nodes of a category, in increasing order. Usually it is one.
Group = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """What is known of a node besides its texts."""

    name: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    stability: float | None = None


@dataclass(frozen=True)
class DescribedTree:
    """A category tree and what is known of its nodes."""

    tree: CategoryTree
    nodes: tuple[Node, ...]  # (P + M)

    def largest(self, group: Group) -> Node:
        """The description of a group: that of its largest node."""
        return self.nodes[max(group, key=lambda node: (self.tree.sizes[node], -node))]

    def label_of(self, nodes: Sequence[int]) -> int:
        """The label of a group of nodes."""
        if not nodes or not all(0 <= node < self.tree.n_nodes for node in nodes):
            raise InputError("a recut names a node that the tree does not have: recut the run again")
        return int(self.tree.labels[nodes[0]])

    def check_pair(self, left: int, right: int) -> None:
        """Refuse an answer about nodes that no question can be about."""
        if (
            self.label_of([left]) != self.label_of([right])
            or np.isin(self.tree.parts_of(left), self.tree.parts_of(right)).any()
        ):
            raise InputError("an answer is about two nodes that overlap or have different labels: correct or delete it")

    def canonical(self, groups: Iterable[Group]) -> Group:
        """The fewest nodes that have the parts of all groups."""
        return self.tree.nodes_of({part for group in groups for node in group for part in self.tree.parts_of(node)})

    def check_groups(self, groups: Sequence[Group]) -> set[int]:
        """The labels that the groups divide. Refuse groups that do not contain each part of a label exactly once."""
        for group in groups:
            self.label_of(group)
        parts = np.concatenate([self.tree.parts_of(node) for group in groups for node in group])
        labels = {int(label) for label in np.unique(self.tree.part_labels[parts])}
        needed = np.flatnonzero(np.isin(self.tree.part_labels, list(labels)))
        of_group = [{int(self.tree.labels[node]) for node in group} for group in groups]
        if not np.array_equal(np.sort(parts), needed) or any(len(some) > 1 for some in of_group):
            raise InputError("a recut does not contain each part of a label exactly once: recut the run again")
        return labels

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict per node. `nodes_from` reverses it."""
        return [
            {"name": n.name, "keywords": list(n.keywords), "examples": list(n.examples), "stability": n.stability}
            for n in self.nodes
        ]


def nodes_from(rows: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The nodes from one dict each."""
    return tuple(Node(r["name"], tuple(r["keywords"]), tuple(r["examples"]), r["stability"]) for r in rows)


def describe_tree(
    texts: Sequence[str],
    features: Floats,
    tree: CategoryTree,
    stability: NDArray[np.float64],
    embed: Embed | None = None,
) -> DescribedTree:
    """Name all nodes of a tree. A name depends on the tree, not on a cut, so it is the same in every cut."""
    words = name_nodes(texts, tree.parts, Nodes.tree(tree.children, tree.part_labels), features, embed)
    centroids = unit(tree.means(features))  # (P + M, D)
    order = np.argsort(tree.parts, kind="stable")
    begin = np.searchsorted(tree.parts[order], np.arange(tree.n_parts + 1))
    found = []
    for node in range(tree.n_nodes):
        members = np.concatenate([order[begin[part] : begin[part + 1]] for part in tree.parts_of(node)])
        examples = representatives(texts, features, np.sort(members), centroids[node])
        found.append(Node(words[node].name, words[node].keywords, examples, round(float(stability[node]), 4)))
    return DescribedTree(tree, tuple(found))
