"""The category tree in a run folder: tree.safetensors and tree.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout
from subtaxa.runs.reading import read_json
from subtaxa.runtime.json_files import difference, json_text
from subtaxa.taxonomy.described_tree import DescribedTree, Group, nodes_from

NODE = {"name": str, "keywords": [str], "examples": [str], "stability": (float, None)}
GROUPS = [{"id": int, "nodes": [int]}]
# Texts that a person moved before the last update, by their position, and the category they were moved to.
MOVED = [{"text": int, "to": int}]


def write_tree(folder: Path, described: DescribedTree, groups: Mapping[int, Group], moved: Mapping[int, int]) -> None:
    """Write the tree, the nodes of each category, and the texts that a person moved."""
    tree = described.tree
    array_files.write_arrays(
        folder / layout.TREE,
        {
            "parts": tree.parts,
            "part_labels": tree.part_labels,
            "children": tree.children.reshape(-1, 2),
            "heights": tree.heights,
        },
    )
    of_categories = [{"id": i, "nodes": list(group)} for i, group in sorted(groups.items())]
    of_texts = [{"text": position, "to": to} for position, to in sorted(moved.items())]
    content = {"nodes": described.to_dict(), "categories": of_categories, "moved": of_texts}
    (folder / layout.TREE_NODES).write_text(json_text(content), encoding="utf-8")


class SavedTree(NamedTuple):
    """The tree of a run, the nodes of each category, and the texts that a person moved before the last update."""

    tree: DescribedTree | None = None
    groups: Mapping[int, Group] = MappingProxyType({})
    moved: Mapping[int, int] = MappingProxyType({})


def read_tree(folder: Path, n_texts: int, n_labels: int) -> SavedTree:
    """The tree of a run. A run of version 0.1 has none."""
    path = folder / layout.TREE_NODES
    if not path.exists():
        return SavedTree()
    arrays, content = array_files.read_arrays(folder / layout.TREE), read_json(path)
    wrong = difference(content, {"nodes": [NODE], "categories": GROUPS, "moved?": MOVED})
    if wrong:
        raise InputError(f"{str(path)!r} is damaged ({wrong}): run discover again")
    tree = CategoryTree(*(arrays[name] for name in ("parts", "part_labels", "children", "heights")))
    if not _is_tree(tree, n_texts, n_labels) or len(content["nodes"]) != tree.n_nodes:
        raise InputError(f"the tree in {str(folder)!r} does not belong to this run: run discover again")
    groups = {group["id"]: tuple(group["nodes"]) for group in content["categories"]}
    nodes = [node for group in groups.values() for node in group]
    if any(not 0 <= node < tree.n_nodes for node in nodes):
        raise InputError(f"{str(path)!r} names a node that the tree does not have: run discover again")
    parts = [part for node in nodes for part in tree.parts_of(node).tolist()]
    if len(set(parts)) < len(parts) or len(groups) < len(content["categories"]):
        raise InputError(f"two categories in {str(path)!r} have the same texts: run discover again")
    moved = {text["text"]: text["to"] for text in content.get("moved", ())}
    if any(not 0 <= position < n_texts for position in moved):
        raise InputError(f"{str(path)!r} names a text that the run does not have: run discover again")
    return SavedTree(DescribedTree(tree, nodes_from(content["nodes"])), groups, moved)


def _is_tree(tree: CategoryTree, n_texts: int, n_labels: int) -> bool:
    """Whether the arrays describe one tree for each label."""
    parts, labels, children = tree.parts, tree.part_labels, tree.children
    if not (
        all(array.dtype.kind in "iu" for array in (parts, labels, children))
        and tree.heights.dtype.kind == "f"
        and parts.shape == (n_texts,)
        and labels.ndim == 1
        and children.shape == (len(tree.heights), 2)
        and tree.heights.shape == (len(labels) - n_labels,)
        and set(np.unique(labels).tolist()) == set(range(n_labels))
        and set(np.unique(parts).tolist()) <= set(range(len(labels)))
    ):
        return False
    below = np.arange(tree.n_parts, tree.n_nodes)[:, None]  # a merge joins two earlier nodes
    return bool(
        (children >= 0).all()
        and (children < below).all()
        and len(np.unique(children)) == children.size
        and (tree.labels[children[:, 0]] == tree.labels[children[:, 1]]).all()
    )
