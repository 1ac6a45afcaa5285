"""Edits of a fitted state. The state keeps what training found; the log of edits is replayed on top of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.label_probabilities import confidences_in_labels
from subtaxa.data.texts import CoarseTexts
from subtaxa.runtime.arrays import Floats
from subtaxa.taxonomy import edit_log, edits
from subtaxa.taxonomy.asking import Answerer, Asking, ask_all
from subtaxa.taxonomy.fitted_state import Categorisation, FittedState
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy


def edit(state: FittedState, kind: str, **what: Any) -> None:
    """Apply one edit to the state, or refuse it and change nothing."""
    working = working_taxonomy(state)
    new = edits.create(kind, working, state.edits, **what)
    apply_log(state, [*state.edits, edit_log.apply_new(working, new, state.edits)])


def ask(state: FittedState, answer: Answerer, budget: int) -> int:
    """Ask questions about the state and apply the answers. Returns the number of answers."""
    working, log = working_taxonomy(state), list(state.edits)
    try:
        return ask_all(Asking(working, log), answer, budget, lambda e: log.append(edit_log.apply_new(working, e, log)))
    finally:
        if len(log) > len(state.edits):
            apply_log(state, log)


def apply_log(state: FittedState, log: list[edit_log.Edit]) -> None:
    """Replace the edits of the state by those of a log."""
    state.current = _categorisation(state, edit_log.replay(_before_edits(state), log))
    state.edits = log


def take_over(state: FittedState, working: WorkingTaxonomy, log: list[edit_log.Edit]) -> None:
    """Give the state the categories of a working taxonomy to which the edits of this log have been applied."""
    state.current = _categorisation(state, working.copy())
    state.edits = list(log)


def working_taxonomy(state: FittedState, log: list[edit_log.Edit] | None = None) -> WorkingTaxonomy:
    """A copy of the categories and their texts, with the edits of the state or of another log, that can be changed."""
    working = edit_log.replay(_before_edits(state), state.edits if log is None else log)
    working.embed = state.reader.embed
    return working


def rebase(state: FittedState, working: WorkingTaxonomy, data: CoarseTexts, text_map: Floats) -> None:
    """Make a working taxonomy, perhaps of more texts, the base of further edits. Earlier edits cannot be undone."""
    state.data, state.features, state.map = data, working.features, text_map
    found = _categorisation(state, working)
    state.current = state.trained = replace(found, past_ids={}, given_names={})  # A saved run does not have these.
    state.earlier_edits += edit_log.write_log(state.edits)
    state.edits = []


def _categorisation(state: FittedState, working: WorkingTaxonomy) -> Categorisation:
    """The categories of a working taxonomy, with centroids and confidences."""
    taxonomy = working.taxonomy()
    label_number = {name: i for i, name in enumerate(state.coarse_labels)}
    centroids = np.stack([working.centroids[c.id] for c in taxonomy])
    clusters = Clusters(centroids, np.array([label_number[c.parent] for c in taxonomy], dtype=np.int64))
    described: dict[str, Any] = {
        "taxonomy": taxonomy,
        "next_id": working.next_id,
        "groups": working.groups,
        "past_ids": working.ids,
        "given_names": working.given_names,
        "moved": working.moved,
    }
    old = state.current
    if (
        [c.id for c in old.taxonomy] == [c.id for c in taxonomy]
        and np.array_equal(old.labels, working.category)
        and np.array_equal(old.clusters.centroids, centroids)
    ):  # Only names have changed, which takes no time.
        return replace(old, **described)
    index = {c.id: i for i, c in enumerate(taxonomy)}
    assignment = np.array([index[i] for i in working.category.tolist()], dtype=np.int64)
    return Categorisation(
        labels=working.category,
        confidences=confidences_in_labels(state.features, assignment, clusters, state.calibration),
        clusters=clusters,
        known_texts=KnownTexts.of(state.data.texts, state.features, assignment, clusters),
        **described,
    )


def _before_edits(state: FittedState) -> WorkingTaxonomy:
    """The categories as training, or the last update, left them."""
    trained = state.trained
    return WorkingTaxonomy(
        texts=state.data.texts,
        labels=state.data.labels,
        rows=np.array(state.data.rows, dtype=np.int64),
        features=state.features,
        category=trained.labels,
        categories=trained.taxonomy.by_id(),
        centroids={c.id: trained.clusters.centroids[i] for i, c in enumerate(trained.taxonomy)},
        next_id=trained.next_id,
        tree=state.tree,
        groups=dict(trained.groups),
        moved=dict(trained.moved),
        saved_names=state.saved_names,
    )
