"""The quality of a run in plain words, and the categories to look at first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subtaxa.report.content import Content
from subtaxa.report.formatting import format_percent, shorten
from subtaxa.taxonomy.fitted_state import FittedState

# A text is sure from this confidence on, a category stable from this stability on.
SURE = 0.7
STABLE = 0.5
# A category with a larger share of outliers, or a neighbour with a larger mean probability, is worth a look.
MANY_OUTLIERS = 0.15
LIKELY = 0.2
MAX_LISTED = 8


def quality(state: FittedState, content: Content, suspects: int) -> dict[str, Any]:
    """Facts as short sentences, and up to eight categories with the reasons to look at them first.

    `content` has what was already computed for the page.
    """
    return {
        "facts": _facts(state, int(content.outliers.sum()), suspects),
        "first": _look_first(state, content.outliers, content.confused),
    }


def _facts(state: FittedState, n_outliers: int, suspects: int) -> list[dict[str, str]]:
    n, sure = len(state.data), int((state.confidences >= SURE).sum())
    stability = [c.stability for c in state.taxonomy if c.stability is not None]
    stable = sum(value >= STABLE for value in stability)
    found = [
        {
            "name": "How sure",
            "value": format_percent(float(state.confidences.mean())),
            "says": f"That is the estimated share of texts in the right category. {sure:,} of {n:,} texts are sure: "
            f"their own probability is {SURE:.0%} or more.",
        },
        {
            "name": "How stable",
            "value": f"{stable:,} of {len(stability):,}" if stability else "–",
            "says": "categories are mostly found again when the texts are clustered once more. "
            "Categories that you changed are not counted."
            if stability
            else "The stability is not known: every category was changed.",
        },
        {
            "name": "Outliers",
            "value": f"{n_outliers:,}",
            "says": f"texts ({format_percent(n_outliers / n)}) fit no category well. They still have the nearest one.",
        },
        {
            "name": "Suspect labels",
            "value": f"{suspects:,}",
            "says": "texts look as if they had the wrong coarse label; suspect_labels.csv in the run folder lists them."
            if suspects
            else "texts look as if they had the wrong coarse label.",
        },
    ]
    return found


def _look_first(state: FittedState, outliers: Any, confused: Mapping[int, Any]) -> list[dict[str, Any]]:
    """Categories that give a reason to look at them, those with the most doubtful texts first."""
    index, k = state.category_index, len(state.taxonomy)
    size = np.bincount(index, minlength=k)  # (K,)
    doubtful = np.bincount(index, weights=1 - state.confidences, minlength=k)  # (K,) expected wrong texts
    out = np.bincount(index, weights=outliers, minlength=k)  # (K,)
    names = {c.id: c.name for c in state.taxonomy}
    categories, found = list(state.taxonomy), []
    for i in np.argsort(-doubtful, kind="stable").tolist():
        category, reasons = categories[i], []
        if category.stability is not None and category.stability < STABLE:
            reasons.append(f"only {format_percent(category.stability)} of it is found again")
        if doubtful[i] > (1 - SURE) * size[i]:
            reasons.append(f"about {round(doubtful[i]):,} of {size[i]:,} texts may be elsewhere")
        if out[i] > MANY_OUTLIERS * size[i]:
            reasons.append(f"{int(out[i]):,} of {size[i]:,} texts are outliers")
        for other, share in confused.get(category.id, ())[:1]:
            if share > LIKELY:
                reasons.append(f"hard to tell from “\u2068{shorten(names[other], 60)}\u2069”")
        if reasons:
            found.append({"id": category.id, "reasons": reasons})
    return found[:MAX_LISTED]
