"""What the page's scripts work on: the categories, every text, and where it is on the map, as one block of JSON.

N texts, K categories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.report.writing import cut
from subtaxa.taxonomy.categories import Taxonomy

SPACE = 8_000_000  # characters that all texts together may take
SHORTEST, LONGEST = 200, 4000  # characters of a text that are shown at least and at most
GRID = 9999  # steps of the map in either direction


@dataclass(frozen=True)
class Content:
    """The result that the page shows and lets its reader correct."""

    fingerprint: str  # of the run's data
    edits: int  # how many the run has had
    taxonomy: Taxonomy
    texts: Sequence[str]  # (N)
    rows: Sequence[int]  # (N) as in the assignments
    categories: NDArray[np.int64]  # (N,) ids
    confidences: NDArray[np.float64]  # (N,)
    outliers: NDArray[np.bool_]  # (N,)
    places: NDArray[np.float32]  # (N, 2) on the map
    confused: Mapping[int, Sequence[tuple[int, float]]]  # by id: categories it could be taken for, and how likely


def as_json(content: Content) -> str:
    """The block, which can stand in a page whatever the texts are: no `<` is in it."""
    written = json.dumps(_content(content), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _content(content: Content) -> dict[str, Any]:
    labels = {name: i for i, name in enumerate(content.taxonomy.parents)}
    limit = min(max(SPACE // max(1, len(content.texts)), SHORTEST), LONGEST)
    x, y = _on_grid(content.places)
    return {
        "run": content.fingerprint,
        "edits": content.edits,
        "labels": [cut(name, 120) for name in labels],
        "categories": [
            {
                "id": c.id,
                "label": labels[c.parent],
                "name": cut(c.name, 120),
                "namer": "you" if c.named else cut(c.namer, 60) if c.namer else "",
                "keywords": [cut(word, 60) for word in c.keywords],
                "examples": [cut(text) for text in c.examples],
                "stability": c.stability,
                "confused": [[int(i), round(float(p), 3)] for i, p in content.confused.get(c.id, ())],
            }
            for c in content.taxonomy
        ],
        "texts": [cut(text, limit) for text in content.texts],
        "rows": [int(row) for row in content.rows],
        "category": content.categories.tolist(),
        "sure": np.rint(100 * content.confidences).astype(int).tolist(),
        "outliers": np.flatnonzero(content.outliers).tolist(),
        "x": x,
        "y": y,
    }


def _on_grid(places: NDArray[np.float32]) -> tuple[list[int], list[int]]:
    """Whole numbers, the same scale in both directions, y downwards as on a screen."""
    if not len(places):
        return [], []
    low, high = places.min(0), places.max(0)  # (2,)
    scaled = GRID * (0.5 + (places - (low + high) / 2) / max(float((high - low).max()), 1e-9))  # (N, 2)
    whole = np.rint(scaled).astype(int)
    return whole[:, 0].tolist(), (GRID - whole[:, 1]).tolist()
