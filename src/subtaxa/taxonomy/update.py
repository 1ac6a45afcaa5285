"""New texts for a finished run. Categories keep their ids and names, and new categories are proposed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from subtaxa.clustering.new_categories import new_categories
from subtaxa.clustering.text_map import positions_among
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.assignment import assign
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.editing import rebase, working_taxonomy
from subtaxa.taxonomy.fitted_state import FittedState

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


def update(state: FittedState, texts: Sequence[str], labels: Sequence[str] | None, progress: Progress) -> Update:
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
    more = replace(data, texts=tuple(working.texts), labels=tuple(working.labels), rows=tuple(working.rows.tolist()))
    rebase(state, working, more, text_map)
    by_id = state.taxonomy.by_id()
    return Update(len(texts) - sum(map(len, new)), tuple(by_id[i] for i in ids))
