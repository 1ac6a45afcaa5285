"""New texts for a finished run. Categories keep their ids and names, and new categories are proposed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from subtaxa.clustering.new_categories import new_categories
from subtaxa.clustering.text_map import positions_among
from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumns
from subtaxa.runtime.arrays import Ints, unit
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.assignment import assign
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.described_tree import DescribedTree, Group, Node
from subtaxa.taxonomy.editing import rebase, working_taxonomy
from subtaxa.taxonomy.fitted_state import FittedState
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

# A new category has at least this many texts.
MIN_TEXTS = 8
# A new category has at least this share of the median size of a category.
MIN_SHARE = 0.1


class Update(NamedTuple):
    """The result of adding texts.

    Attributes
    ----------
    n_assigned : int
        The number of texts that went to existing categories.
    proposed : tuple of Category
        The new categories.
    """

    n_assigned: int
    proposed: tuple[Category, ...]

    @property
    def filed(self) -> int:
        """The old name of `n_assigned`."""
        warnings.warn(
            "`filed` is now `n_assigned`; the old name will be removed in 0.3.0", DeprecationWarning, stacklevel=2
        )
        return self.n_assigned


def update(
    state: FittedState,
    texts: Sequence[str],
    labels: Sequence[str] | None,
    progress: Progress,
    columns: KeptColumns = NO_COLUMNS,
) -> Update:
    """Assign texts to the state's categories and keep them. Edits made before can no longer be undone."""
    assigned = assign(state, texts, labels, progress)
    index, features, data = assigned.category_index, assigned.features, state.data
    parents = state.clusters.parents[index]  # (n,)
    coarse = [state.coarse_labels[i] for i in parents]
    median_size = float(np.median([c.size for c in state.taxonomy]))
    with progress.step("Looking for new categories"):
        new = new_categories(
            state.features,
            np.searchsorted(state.coarse_labels, data.labels),
            features,
            parents,
            max(MIN_TEXTS, round(MIN_SHARE * median_size)),
            state.settings.new_category_lift,
        )
    more_places = positions_among(features, state.features, state.map, state.request.seed)  # (n, 2)
    text_map = np.concatenate([state.map, more_places])  # (N + n, 2)
    working = working_taxonomy(state)
    ids = working.extend(texts, coarse, features, state.category_ids[index], new)
    if state.tree is not None:
        state.tree, working.groups = _extended_tree(state, state.tree, working, ids, parents)
    more = replace(data, texts=tuple(working.texts), labels=tuple(working.labels), rows=tuple(working.rows.tolist()))
    rebase(state, working, more, text_map)
    state.columns = state.columns.extended(len(data), columns, len(texts))
    by_id = state.taxonomy.by_id()
    return Update(len(texts) - sum(map(len, new)), tuple(by_id[i] for i in ids))


def _extended_tree(
    state: FittedState, described: DescribedTree, working: WorkingTaxonomy, new_ids: Sequence[int], parents: Ints
) -> tuple[DescribedTree, dict[int, Group]]:
    """The category tree with the new texts, and the nodes of each category. A new category is a new part."""
    tree, n = described.tree, len(state.data)
    own, category = working.features[n:], working.category[n:]  # (n, D), (n,)
    centroids = unit(tree.means(state.features)[: tree.n_parts])  # (P, D)
    allowed = tree.part_labels == parents[:, None]  # (n, P)
    for i, group in working.groups.items():
        outside = np.ones(tree.n_parts, dtype=bool)
        outside[tree.index_of_parts([group]) == 0] = False
        allowed[np.ix_(category == i, outside)] = False
    parts = np.where(allowed, own @ centroids.T, -np.inf).argmax(1)  # (n,)
    labels, nodes = [], list(described.nodes[: tree.n_parts])
    for number, i in enumerate(new_ids):
        parts[category == i] = tree.n_parts + number
        labels.append(int(parents[category == i][0]))
        new = working.categories[i]
        nodes.append(Node(new.name, new.keywords, new.examples))
    nodes += described.nodes[tree.n_parts :]
    larger = tree.extended(parts, labels)
    nodes += [described.nodes[int(np.flatnonzero((tree.parents < 0) & (tree.labels == label))[0])] for label in labels]
    groups = {
        i: tuple(tree.renumbered(node, len(new_ids)) for node in group) for i, group in working.groups.items()
    } | {i: (tree.n_parts + number,) for number, i in enumerate(new_ids)}
    return DescribedTree(larger, tuple(nodes)), groups
