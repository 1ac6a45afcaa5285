"""Nodes that get names: which parts of the corpus each consists of, and which others it is told apart from.

P parts, G nodes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix, eye, lil_matrix

from subtaxa.runtime.arrays import Ints


@dataclass(frozen=True)
class Nodes:
    """Categories, or all nodes of a forest. Use `flat` or `tree`."""

    covers: csr_matrix  # (G, P) 1 for the parts that a node consists of
    labels: Ints  # (G,) coarse label numbers
    part_labels: Ints  # (P,)
    merges: Ints  # (G, 2) the children of each node, or -1
    rivals: tuple[Ints, ...]  # (G) the nodes that each one is told apart from

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_parts(self) -> int:
        """P, the number of parts."""
        return int(self.covers.shape[1])

    @classmethod
    def flat(cls, labels: Ints) -> Nodes:
        """One node for each part. All nodes of a label compete; the only node of a label competes with all others."""
        labels = np.asarray(labels, dtype=np.int64)
        every = np.arange(len(labels))
        rivals = []
        for node, label in enumerate(labels):
            same = every[labels == label]
            others = same if len(same) > 1 else every
            rivals.append(others[others != node])
        covers = eye(len(labels), dtype=np.float32, format="csr")
        return cls(covers, labels, labels, np.full((len(labels), 2), -1, dtype=np.int64), tuple(rivals))

    @classmethod
    def tree(cls, merges: Ints, labels: Ints) -> Nodes:
        """All nodes of one binary tree below each label.

        The first P nodes are the parts, with the coarse `labels` (P,). Node P + i is the union of the two earlier nodes
        `merges[i]`, as in SciPy's linkage matrices. A node competes with its sibling and with the siblings of all nodes
        above it. The top node of a label competes with the other top nodes.
        """
        n_parts, n = len(labels), len(labels) + len(merges)
        children = np.concatenate([np.full((n_parts, 2), -1), np.asarray(merges).reshape(-1, 2)]).astype(np.int64)
        covers = lil_matrix((n, n_parts), dtype=np.float32)
        node_labels, above = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        node_labels[:n_parts] = labels
        members: list[list[int]] = [[part] for part in range(n_parts)]
        for node in range(n_parts, n):
            one, other = children[node].tolist()
            members.append(members[one] + members[other])
            node_labels[node], above[one], above[other] = node_labels[one], node, node
        covers.rows[:] = [sorted(some) for some in members]
        covers.data[:] = [[1.0] * len(some) for some in members]
        tops = np.flatnonzero(above < 0)
        rivals: list[Ints] = [np.empty(0, dtype=np.int64)] * n
        for node in range(n - 1, -1, -1):
            if above[node] < 0:
                rivals[node] = tops[tops != node]
            else:
                pair = children[above[node]]
                upper = rivals[above[node]] if above[above[node]] >= 0 else np.empty(0, dtype=np.int64)
                rivals[node] = np.append(upper, pair[pair != node])
        return cls(covers.tocsr(), node_labels, np.asarray(labels, dtype=np.int64), children, tuple(rivals))

    def competitors(self, node: int) -> Ints:
        """The nodes that a node is told apart from."""
        return self.rivals[node]

    def children(self, node: int) -> Ints:
        """The two children of a node, or none."""
        found: Ints = self.merges[node]
        return found[found >= 0]

    def conflicts(self, node: int) -> Ints:
        """The other nodes of the label that have no part in common with a node. They may not share its name."""
        same = self._of_label[int(self.labels[node])]
        shared = np.asarray((self.covers[same] @ self.covers[node].T).todense()).ravel()
        return same[shared == 0]

    def place(self, node: int) -> int:
        """The position of a node among those of its label."""
        return int(np.searchsorted(self._of_label[int(self.labels[node])], node))

    @cached_property
    def _of_label(self) -> dict[int, Ints]:
        groups: dict[int, list[int]] = defaultdict(list)
        for node, label in enumerate(self.labels.tolist()):
            groups[label].append(node)
        return {label: np.array(some, dtype=np.int64) for label, some in groups.items()}
