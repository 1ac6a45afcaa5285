"""Find by meaning: the texts and categories nearest to a sentence, or to a text of the run."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from subtaxa.app.workbench import Workbench
from subtaxa.data.values import clean
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.taxonomy.fitted_state import FittedState

MAX_TEXTS = 25
MAX_CATEGORIES = 6
# Characters of a sentence that are read.
MAX_QUERY = 2000


def find_sentence(bench: Workbench, sentence: str) -> dict[str, Any]:
    """The texts and categories nearest to a sentence. The encoder is loaded at the first call."""
    query = clean(sentence).strip()[:MAX_QUERY]
    if not query:
        raise InputError("the sentence is empty: type what you are looking for")
    features = bench.current().reader.embed([query])[0]  # (D,)
    return _nearest(bench.current(), features)


def find_row(bench: Workbench, row: int) -> dict[str, Any]:
    """The texts and categories nearest to the text in this row of the user's file."""
    state = bench.current()
    if row not in state.data.rows:
        raise InputError(f"no text has row {row}: the first column of the assignments lists the rows")
    position = state.data.rows.index(row)
    return _nearest(state, state.features[position], position)


def warm_up(bench: Workbench) -> None:
    """Load the encoder, so that the first search and the first split need not wait for it."""
    with suppress(SubtaxaError, OSError):  # Whoever needs the encoder gets the error.
        bench.current().reader.embed(["ready"])


def _nearest(state: FittedState, query: Any, without: int | None = None) -> dict[str, Any]:
    """Positions of texts and ids of categories with their cosine similarity, nearest first."""
    similarity = state.features @ query  # (N,)
    if without is not None:
        similarity[without] = -np.inf
    to_categories = state.clusters.centroids @ query  # (K,)
    texts = np.argsort(-similarity, kind="stable")[: min(MAX_TEXTS, len(similarity) - (without is not None))]
    categories = np.argsort(-to_categories, kind="stable")[:MAX_CATEGORIES]
    ids = state.category_ids
    return {
        "texts": [[int(i), round(float(similarity[i]), 3)] for i in texts],
        "categories": [[int(ids[i]), round(float(to_categories[i]), 3)] for i in categories],
    }
