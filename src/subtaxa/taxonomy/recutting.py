"""Replace the categories of some labels by other nodes of the category tree.

N texts, n of one label, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from subtaxa.clustering.kmeans import spherical_kmeans
from subtaxa.runtime.arrays import Ints, means, unit
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.described_tree import Group
from subtaxa.taxonomy.examples import representatives
from subtaxa.taxonomy.naming import fresh_name
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy


def recut(working: WorkingTaxonomy, groups: Mapping[int, Group]) -> None:
    """Make these groups of nodes, given by their ids, the categories of their labels.

    A category that stays the same keeps everything. Texts that a person moved stay in their category if it is still
    there, and names that a person gave stay with their nodes.
    """
    described = working.described_tree()
    tree, labels = described.tree, described.check_groups(list(groups.values()))
    kept = {i for i, group in groups.items() if working.groups.get(i) == group}
    text_labels = tree.part_labels[tree.parts]  # (N,)
    concerned = np.isin(text_labels, list(labels))  # (N,)
    for i in set(working.category[concerned].tolist()) - kept:
        working.drop(i)
    for label in sorted(labels):
        rows = np.flatnonzero(text_labels == label)
        working.category[rows] = _nearest(working, groups, rows)
        parent = working.labels[int(rows[0])]
        for i, group in groups.items():
            if i not in kept and tree.labels[group[0]] == label:
                node = described.largest(group)
                stability = node.stability if len(group) == 1 else None
                working.categories[i] = Category(i, parent, "", node.keywords, (), 0, stability)
    for i, group in groups.items():
        working.groups[i], working.ids[group] = group, i
    for position, to in working.moved.items():
        if concerned[position] and to in working.categories:
            working.category[position] = to
    working.next_id = max(working.next_id, 1 + max(groups))
    _complete(working, groups, kept)


def _nearest(working: WorkingTaxonomy, groups: Mapping[int, Group], rows: Ints) -> Ints:
    """The ids (n,) of the categories of one label's texts, after k-means, which moves texts to the right side."""
    tree, features = working.described_tree().tree, working.features[rows]
    index = tree.index_of_parts(groups.values())[tree.parts[rows]]  # (n,)
    own, local = np.unique(index, return_inverse=True)
    centroids = spherical_kmeans(features, unit(means(features, local, len(own))[0]))
    nearest = (features @ centroids.T).argmax(1)
    if len(np.unique(nearest)) < len(own):  # K-means emptied a category, so texts stay where the tree has them.
        nearest = local
    return np.array(list(groups), dtype=np.int64)[own[nearest]]


def _complete(working: WorkingTaxonomy, groups: Mapping[int, Group], kept: Collection[int]) -> None:
    """Centroids, sizes, examples and names of the categories after a recut."""
    described = working.described_tree()
    sizes = {i: len(working.members(i)) for i in groups}
    for i in [i for i in groups if not sizes[i]]:  # Every text of it was moved elsewhere by hand.
        working.categories.pop(i)
        working.groups.pop(i)
    for i in sorted((i for i in groups if sizes[i]), key=lambda i: (i not in kept, -sizes[i], i)):
        category, members = working.categories[i], working.members(i)
        working.centroids[i] = unit(working.features[members].mean(0, keepdims=True))[0]
        examples = representatives(working.texts, working.features, members, working.centroids[i])
        name, named = category.name, category.named
        if i not in kept:
            taken = {c.name for c in working.categories.values() if c.parent == category.parent and c.id != i}
            given = working.given_names.get(groups[i], "")
            named = bool(given) and given not in taken
            name = given if named else fresh_name(described.largest(groups[i]).name, taken)
        working.categories[i] = replace(category, name=name, named=named, examples=examples, size=sizes[i])
    for parent in sorted({working.categories[i].parent for i in groups if sizes[i]}):
        working.tell_apart([c.id for c in working.categories.values() if c.parent == parent])
