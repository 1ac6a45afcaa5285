"""The data of the page's scripts: the categories, and every text with its place and its other columns, as JSON.

N texts, K categories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumns
from subtaxa.report.column_content import columns_block
from subtaxa.report.formatting import shorten
from subtaxa.report.tree_content import TreeContent, changing_block, tree_block
from subtaxa.taxonomy.categories import Taxonomy

TOTAL_LENGTH = 8_000_000  # Characters that all texts together may take.
MIN_LENGTH, MAX_LENGTH = 200, 4000  # A text is cut to a length between these two, in characters.
GRID = 9999  # Largest coordinate on the map, which starts at 0.


@dataclass(frozen=True)
class Content:
    """The result that the page shows and lets its reader correct."""

    fingerprint: str  # of the data of the run
    edits: int  # number of edits of the run so far
    taxonomy: Taxonomy
    texts: Sequence[str]  # (N)
    rows: Sequence[int]  # (N) as in the assignments table
    categories: NDArray[np.int64]  # (N,) ids
    confidences: NDArray[np.float64]  # (N,)
    outliers: NDArray[np.bool_]  # (N,)
    positions: NDArray[np.float32]  # (N, 2) on the map
    confused: Mapping[int, Sequence[tuple[int, float]]]  # by id: similar categories and their probability
    tree: TreeContent | None = None  # None in a run of version 0.1
    columns: KeptColumns = NO_COLUMNS  # (N) the other columns of the texts


def as_json(content: Content, more: Mapping[str, Any] | None = None) -> str:
    """The block, with more entries of the app. It contains no `<`, so that no text can end the script element."""
    block = json.dumps(
        {**_content(content), **(more or {})}, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return block.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _content(content: Content) -> dict[str, Any]:
    labels = _labels(content)
    limit = min(max(TOTAL_LENGTH // max(1, len(content.texts)), MIN_LENGTH), MAX_LENGTH)
    x, y = _on_grid(content.positions)
    return changing(content) | {
        "labels": [shorten(name, 120) for name in labels],
        "texts": [shorten(text, limit) for text in content.texts],
        "rows": [int(row) for row in content.rows],
        "x": x,
        "y": y,
        "tree": None if content.tree is None else tree_block(content.tree, content.texts, labels),
        **columns_block(content.columns),
    }


def changing(content: Content) -> dict[str, Any]:
    """What an edit can change, as the page's scripts have it."""
    labels = _labels(content)
    return {
        "run": content.fingerprint,
        "edits": content.edits,
        "categories": [
            {
                "id": c.id,
                "label": labels[c.parent],
                "name": shorten(c.name, 120),
                "namer": "you" if c.named else shorten(c.namer, 60) if c.namer else "",
                "keywords": [shorten(word, 60) for word in c.keywords],
                "difference": shorten(c.difference, 200),
                "examples": [shorten(text) for text in c.examples],
                "stability": c.stability,
                "confused": [[int(i), round(float(p), 3)] for i, p in content.confused.get(c.id, ())],
            }
            for c in content.taxonomy
        ],
        "category": content.categories.tolist(),
        "confidence": np.rint(100 * content.confidences).astype(int).tolist(),
        "outliers": np.flatnonzero(content.outliers).tolist(),
        "tree": None if content.tree is None else changing_block(content.tree),
    }


def _labels(content: Content) -> dict[str, int]:
    """The index of each label on the page."""
    return {name: i for i, name in enumerate(content.taxonomy.parents)}


def _on_grid(positions: NDArray[np.float32]) -> tuple[list[int], list[int]]:
    """Whole coordinates x and y with the same scale, y downwards as on a screen."""
    if not len(positions):
        return [], []
    low, high = positions.min(0), positions.max(0)  # (2,)
    scaled = GRID * (0.5 + (positions - (low + high) / 2) / max(float((high - low).max()), 1e-9))  # (N, 2)
    whole = np.rint(scaled).astype(int)
    return whole[:, 0].tolist(), (GRID - whole[:, 1]).tolist()
