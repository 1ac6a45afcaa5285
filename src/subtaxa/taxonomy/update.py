"""New texts for a finished run: they are filed, the categories keep their ids and names, and new ones are proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from subtaxa.clustering.new_categories import new_categories
from subtaxa.clustering.text_map import places_among
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.categories import Category

if TYPE_CHECKING:
    from subtaxa.discovery import Discovery

SMALLEST = 8  # texts of a new category, or
SMALL = 0.1  # of the usual size of a category


class Update(NamedTuple):
    """What became of new texts: how many were filed under the categories there were, and the new categories."""

    filed: int
    proposed: tuple[Category, ...]


def update(model: Discovery, texts: Sequence[str], labels: Sequence[str] | None, progress: Progress) -> Update:
    """Add texts to a fitted model. What was edited before is from then on part of the result: undo stops there."""
    place, _, _, features = model.assign(texts, labels, progress)
    parents = model.clusters_.parents[place]  # (n,)
    coarse = [model.coarse_labels_[i] for i in parents]
    usual = float(np.median([c.size for c in model.taxonomy_]))
    with progress.step("Looking for new categories"):
        new = new_categories(
            model.features_,
            np.searchsorted(model.coarse_labels_, model.data_.labels),
            features,
            parents,
            max(SMALLEST, round(SMALL * usual)),
        )
    places = np.concatenate([model.map_, places_among(features, model.features_, model.map_, model.seed)])  # (N + n, 2)
    filing, data = model.filing(), model.data_
    ids = filing.extend(texts, coarse, features, model.classes_[place], new)
    more = replace(data, texts=tuple(filing.texts), labels=tuple(filing.labels), rows=tuple(filing.rows.tolist()))
    model.build_on(filing, more, places)
    of = model.taxonomy_.by_id()
    return Update(len(texts) - sum(map(len, new)), tuple(of[i] for i in ids))
