"""New texts for a finished run: they are filed, the categories keep their ids and names, and new ones are proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from subtaxa.clustering.new_categories import new_categories
from subtaxa.clustering.text_map import places_among
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.assignment import assign
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.editing import rebase, working_taxonomy
from subtaxa.taxonomy.fitted_state import FittedState

SMALLEST = 8  # texts of a new category, or
SMALL = 0.1  # of the usual size of a category


class Update(NamedTuple):
    """What became of new texts: how many were filed under the categories there were, and the new categories."""

    filed: int
    proposed: tuple[Category, ...]


def update(state: FittedState, texts: Sequence[str], labels: Sequence[str] | None, progress: Progress) -> Update:
    """Assign texts to the state's categories and keep them. Edits made before can no longer be undone."""
    assigned = assign(state, texts, labels, progress)
    index, features, data = assigned.category_index, assigned.features, state.data
    parents = state.clusters.parents[index]  # (n,)
    coarse = [state.coarse_labels[i] for i in parents]
    usual = float(np.median([c.size for c in state.taxonomy]))
    with progress.step("Looking for new categories"):
        new = new_categories(
            state.features,
            np.searchsorted(state.coarse_labels, data.labels),
            features,
            parents,
            max(SMALLEST, round(SMALL * usual)),
        )
    more_places = places_among(features, state.features, state.map, state.request.seed)  # (n, 2)
    text_map = np.concatenate([state.map, more_places])  # (N + n, 2)
    working = working_taxonomy(state)
    ids = working.extend(texts, coarse, features, state.category_ids[index], new)
    more = replace(data, texts=tuple(working.texts), labels=tuple(working.labels), rows=tuple(working.rows.tolist()))
    rebase(state, working, more, text_map)
    by_id = state.taxonomy.by_id()
    return Update(len(texts) - sum(map(len, new)), tuple(by_id[i] for i in ids))
