"""The category tree in a run folder: tree.safetensors and tree.json."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout
from subtaxa.runtime.json_files import difference, json_text, read_json
from subtaxa.taxonomy.described_tree import DescribedTree, Group, nodes_from

NODE = {"name": str, "keywords": [str], "examples": [str], "stability": (float, None)}
GROUPS = [{"id": int, "nodes": [int]}]


def write_tree(folder: Path, described: DescribedTree, groups: dict[int, Group]) -> None:
    """Write the tree and the nodes of each category."""
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
    content = {"nodes": described.to_dict(), "categories": of_categories}
    (folder / layout.TREE_NODES).write_text(json_text(content), encoding="utf-8")


def read_tree(folder: Path, n_texts: int, n_labels: int) -> tuple[DescribedTree | None, dict[int, Group]]:
    """The tree of a run and the nodes of each category. A run of version 0.1 has no tree."""
    path = folder / layout.TREE_NODES
    if not path.exists():
        return None, {}
    arrays, content = array_files.read_arrays(folder / layout.TREE), read_json(path)
    wrong = difference(content, {"nodes": [NODE], "categories": GROUPS})
    if wrong:
        raise InputError(f"{str(path)!r} is damaged ({wrong}): run discover again")
    tree = CategoryTree(*(arrays[name] for name in ("parts", "part_labels", "children", "heights")))
    if not _is_tree(tree, n_texts, n_labels) or len(content["nodes"]) != tree.n_nodes:
        raise InputError(f"the tree in {str(folder)!r} does not belong to this run: run discover again")
    groups = {group["id"]: tuple(group["nodes"]) for group in content["categories"]}
    if any(not 0 <= node < tree.n_nodes for group in groups.values() for node in group):
        raise InputError(f"{str(path)!r} names a node that the tree does not have: run discover again")
    return DescribedTree(tree, nodes_from(content["nodes"])), groups


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
        and np.isfinite(tree.heights).all()
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
