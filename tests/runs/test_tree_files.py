"""The category tree in a run folder: it reads back unchanged, and damage leads to one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.planted import blobs

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.forest import Forest
from subtaxa.errors import SubtaxaError
from subtaxa.runs import array_files, layout
from subtaxa.runs.tree_files import read_tree, write_tree
from subtaxa.taxonomy.described_tree import DescribedTree, Node

DATA = blobs([[30, 20], [25], [1]], spread=0.2)
TREE = Forest(DATA.features, DATA.labels).category_tree
N, LABELS = len(DATA), 3
ROOTS = {int(TREE.labels[node]): int(node) for node in np.flatnonzero(TREE.parents < 0)}
GROUPS = {7: (ROOTS[0],), 2: tuple(np.flatnonzero(TREE.part_labels == 1)[[0, 2]].tolist())}
MOVED = {3: 7, 0: 2}


def described(tree: CategoryTree = TREE) -> DescribedTree:
    nodes = (Node(f"näme {i}", (f"word {i}",), (f"text {i}", "…"), i / tree.n_nodes) for i in range(tree.n_nodes - 1))
    return DescribedTree(tree, (*nodes, Node("last", (), (), None)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tree(tmp_path, described(), GROUPS, MOVED)
    return tmp_path


def test_a_tree_reads_back(folder: Path) -> None:
    found, groups, moved = read_tree(folder, N, LABELS)
    assert found is not None
    for name in ("parts", "part_labels", "children", "heights"):
        ours, theirs = getattr(TREE, name), getattr(found.tree, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert found.nodes == described().nodes
    assert groups == GROUPS
    assert moved == MOVED


def test_a_tree_without_merges_reads_back(tmp_path: Path) -> None:
    data = blobs([[1], [1]], dim=8)
    tree = Forest(data.features, data.labels).category_tree
    write_tree(tmp_path, described(tree), {0: (0,), 1: (1,)}, {})
    found, groups, _ = read_tree(tmp_path, 2, 2)
    assert found is not None
    assert found.tree.children.shape == (0, 2)
    assert groups == {0: (0,), 1: (1,)}


def test_a_run_of_version_0_1_has_no_tree(tmp_path: Path) -> None:
    assert read_tree(tmp_path, N, LABELS) == (None, {}, {})


def with_value(array: np.ndarray, index: Any, value: Any) -> np.ndarray:
    changed = array.copy()
    changed[index] = value
    return changed


ARRAYS: dict[str, Callable[[], dict[str, np.ndarray]]] = {
    "a text less": lambda: {"parts": TREE.parts[1:]},
    "parts that are fractions": lambda: {"parts": TREE.parts + 0.5},
    "a part there is not": lambda: {"parts": with_value(TREE.parts, 0, TREE.n_parts)},
    "a negative part": lambda: {"parts": with_value(TREE.parts, 0, -1)},
    "parts in a table": lambda: {"parts": TREE.parts[:, None]},
    "a label there is not": lambda: {"part_labels": with_value(TREE.part_labels, 0, LABELS)},
    "a label without parts": lambda: {"part_labels": np.minimum(TREE.part_labels, 1)},
    "labels of one part less": lambda: {"part_labels": TREE.part_labels[:-1]},
    "a merge less": lambda: {"children": TREE.children[:-1], "heights": TREE.heights[:-1]},
    "a height less": lambda: {"heights": TREE.heights[:-1]},
    "a height that is no number": lambda: {"heights": with_value(TREE.heights, 0, np.nan)},
    "an infinite height": lambda: {"heights": with_value(TREE.heights, -1, np.inf)},
    "heights that are whole numbers": lambda: {"heights": np.arange(len(TREE.heights))},
    "a node that is merged twice": lambda: {"children": with_value(TREE.children, (0, 0), TREE.children[0, 1])},
    "a merge with itself": lambda: {"children": with_value(TREE.children, (-1, 0), TREE.n_nodes - 1)},
    "a negative node": lambda: {"children": with_value(TREE.children, (0, 0), -1)},
    "a node beyond all nodes": lambda: {"children": with_value(TREE.children, (0, 0), 10**9)},
    "a merge of two labels": lambda: {
        "part_labels": with_value(TREE.part_labels, [0, -2], [int(TREE.part_labels[-2]), int(TREE.part_labels[0])])
    },
    "merges of three": lambda: {"children": np.concatenate([TREE.children, TREE.children[:, :1]], axis=1)},
}


@pytest.mark.parametrize("name", ARRAYS)
def test_damaged_arrays_are_refused(folder: Path, name: str) -> None:
    arrays = array_files.read_arrays(folder / layout.TREE)
    array_files.write_arrays(folder / layout.TREE, {**arrays, **ARRAYS[name]()})
    with pytest.raises(SubtaxaError, match=r"(does not belong to this run|infinity in 'heights'): run discover again$"):
        read_tree(folder, N, LABELS)


def test_arrays_of_other_texts_or_labels_are_refused(folder: Path) -> None:
    for n_texts, n_labels in ((N - 1, LABELS), (N + 1, LABELS), (N, LABELS - 1), (N, LABELS + 1)):
        with pytest.raises(SubtaxaError, match="does not belong to this run"):
            read_tree(folder, n_texts, n_labels)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content["nodes"].pop(), "does not belong to this run"),
        (lambda content: content["nodes"][0].pop("name"), "is damaged .*has no 'name'"),
        (lambda content: content["nodes"][0].update(keywords="abc"), "is damaged .*'keywords'"),
        (lambda content: content["nodes"][0].update(stability="high"), "is damaged .*'stability'"),
        (lambda content: content.pop("categories"), "is damaged .*has no 'categories'"),
        (lambda content: content["categories"][0].update(nodes=[10**6]), "names a node that the tree does not have"),
        (lambda content: content["categories"][0].update(nodes=[-1]), "names a node that the tree does not have"),
        (lambda content: content["categories"][0].update(nodes=[True]), "is damaged"),
        (lambda content: content["categories"][0].update(id="0"), "is damaged"),
        (lambda content: content["categories"].append({"id": 9, "nodes": [ROOTS[0]]}), "have the same texts"),
        (lambda content: content["categories"].append({"id": 9, "nodes": [0]}), "have the same texts"),
        (lambda content: content["categories"].append({"id": 7, "nodes": [ROOTS[2]]}), "have the same texts"),
        (lambda content: content["categories"][0].update(nodes=[ROOTS[2], ROOTS[2]]), "have the same texts"),
        (lambda content: content["moved"][0].update(text=N), "names a text that the run does not have"),
        (lambda content: content["moved"][0].update(text=-1), "names a text that the run does not have"),
        (lambda content: content["moved"][0].update(to=None), "is damaged"),
    ],
)
def test_damaged_descriptions_are_refused(folder: Path, change: Callable[[Any], object], sentence: str) -> None:
    content = json.loads((folder / layout.TREE_NODES).read_text("utf-8"))
    change(content)
    (folder / layout.TREE_NODES).write_text(json.dumps(content), "utf-8")
    with pytest.raises(SubtaxaError, match=sentence):
        read_tree(folder, N, LABELS)


def test_missing_arrays_are_refused(folder: Path) -> None:
    (folder / layout.TREE).unlink()
    with pytest.raises(SubtaxaError, match="is missing: the run folder is not complete"):
        read_tree(folder, N, LABELS)


def test_nodes_without_a_stability_are_allowed(tmp_path: Path) -> None:
    tree = described()
    write_tree(tmp_path, replace(tree, nodes=tuple(replace(node, stability=None) for node in tree.nodes)), {}, {})
    found, *_ = read_tree(tmp_path, N, LABELS)
    assert found is not None
    assert {node.stability for node in found.nodes} == {None}


@pytest.mark.parametrize("text", ['{"nodes":' * 100_000, "[" * 100_000, "", "{", "\x00"])
def test_what_is_no_json_is_refused(folder: Path, text: str) -> None:
    (folder / layout.TREE_NODES).write_text(text, "utf-8")
    with pytest.raises(SubtaxaError, match="is damaged"):
        read_tree(folder, N, LABELS)


def test_a_tree_saved_without_moved_texts_reads_back(folder: Path) -> None:
    content = json.loads((folder / layout.TREE_NODES).read_text("utf-8"))
    del content["moved"]
    (folder / layout.TREE_NODES).write_text(json.dumps(content), "utf-8")
    assert read_tree(folder, N, LABELS).moved == {}
