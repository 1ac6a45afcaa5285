"""Nodes: what they cover, who competes, and who may not share a name."""

from __future__ import annotations

import numpy as np

from subtaxa.taxonomy.nodes import Nodes

# Parts 0, 1 and 2 are below label 0, part 3 below label 1. Node 4 joins 0 and 1, node 5 joins 4 and 2.
TREE = Nodes.tree(np.array([[0, 1], [4, 2]]), np.array([0, 0, 0, 1]))


def test_a_node_covers_the_parts_of_its_children() -> None:
    assert TREE.covers.toarray().tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
    ]
    assert TREE.labels.tolist() == [0, 0, 0, 1, 0, 0]
    assert TREE.children(5).tolist() == [4, 2]
    assert TREE.children(2).tolist() == []


def test_a_node_competes_with_its_sibling_and_those_of_the_nodes_above_it() -> None:
    assert [sorted(TREE.competitors(i).tolist()) for i in range(6)] == [[1, 2], [0, 2], [4], [5], [2], [3]]


def test_nodes_without_common_texts_may_not_share_a_name() -> None:
    assert [TREE.conflicts(i).tolist() for i in range(6)] == [[1, 2], [0, 2], [0, 1, 4], [], [2], []]


def test_categories_compete_within_their_label_and_an_only_child_with_all() -> None:
    nodes = Nodes.flat(np.array([0, 1, 0, 0]))
    assert [nodes.competitors(i).tolist() for i in range(4)] == [[2, 3], [0, 2, 3], [0, 3], [0, 2]]
    assert nodes.conflicts(0).tolist() == [2, 3]
    assert nodes.conflicts(1).tolist() == []
    assert [nodes.place(i) for i in range(4)] == [0, 0, 1, 2]
