"""The small files of a run folder for a run of three texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.data.tables import csv_text
from subtaxa.runs import array_files, layout
from subtaxa.runtime.json_files import json_text
from subtaxa.settings import Settings
from subtaxa.taxonomy.categories import Category, Taxonomy

TEXTS = ("refund please", "charged twice", "parcel lost")
FACTS: dict[str, Any] = {
    "format": layout.FORMAT,
    "subtaxa": "0.1.0",
    "created": "2026-11-17T00:00:00+00:00",
    "command": "subtaxa discover x.csv --out run",
    "preset": "default",
    "categories": "auto",
    "granularity": "normal",
    "seed": 0,
    "settings": Settings.from_preset().to_dict(),
    "labels": ["money", "post"],
    "next_id": 3,
    "numbers": {name: {"chosen": 1, "low": 1, "high": 2, "curve": [[1, 0.5], [2, 0.25]]} for name in ("money", "post")},
    "confidence": {name: {"temperature": 0.05, "trust": 0.8} for name in ("within", "across")},
    "data": {
        "source": "x.csv",
        "text_column": "text",
        "label_column": "label",
        "texts": 3,
        "skipped": 0,
        "fingerprint": "0" * 64,
    },
    "timings": {"Reading the file": 0.1},
    "history": [{"epoch": 1, "loss": float("nan")}],
    "cores": 2,
    "versions": {"python": "3.11.7"},
}
CATEGORIES = Taxonomy(
    (
        Category(0, "money", "refund", ("refund",), (TEXTS[0],), 1, 0.9),
        Category(1, "money", "charged", ("charged",), (TEXTS[1],), 1),
        Category(2, "post", "parcel", ("parcel",), (TEXTS[2],), 1, 1.0, named=True),
    )
)
EDITS = (
    {"edit": 1, "at": "2026-11-17T00:00:00+00:00", "do": "rename", "category": 2, "name": "lost", "says": "rename"},
    {"edit": 2, "at": "2026-11-17T00:00:01+00:00", "do": "merge", "categories": [0, 1], "says": "merge"},
    {"edit": 3, "at": "2026-11-17T00:00:02+00:00", "do": "undo", "of": 2, "says": "undo: merge"},
)


def arrays() -> dict[str, np.ndarray]:
    """The arrays of clusters.safetensors."""
    return {
        "centroids": np.eye(3, dtype=np.float32),
        "parents": np.array([0, 0, 1]),
        "labels": np.arange(3),
        "confidences": np.array([0.5, 0.6, 0.7]),
        "memory_keys": np.arange(3, dtype=np.uint64),
        "memory_categories": np.arange(3),
        "map": np.zeros((3, 2), dtype=np.float32),
    }


def write_run(folder: Path) -> Path:
    """Write a run folder without its model, table of categories and report."""
    folder.mkdir(parents=True, exist_ok=True)
    assignments = {
        "row": [1, 2, 3],
        "text": list(TEXTS),
        "label": ["money", "money", "post"],
        "category_id": [0, 1, 2],
        "category": [c.name for c in CATEGORIES],
        "confidence": [0.5, 0.6, 0.7],
        "outlier": ["no", "no", "yes"],
    }
    (folder / layout.RUN).write_text(json_text(FACTS))
    (folder / layout.TAXONOMY).write_text(json_text(CATEGORIES.to_dict()))
    (folder / "assignments.csv").write_text(csv_text(assignments))
    array_files.write_arrays(folder / layout.CLUSTERS, arrays())
    array_files.write_arrays(folder / layout.FEATURES, {"features": np.eye(3, dtype=np.float32)})
    return folder


def fill(folder: Path, *names: str, content: str = "old") -> Path:
    """Write files of a run, all with the same content. The model and the checkpoint are folders."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in (layout.MODEL, layout.CHECKPOINT):
            (folder / name).mkdir()
            (folder / name / "inside").write_text(content)
        else:
            (folder / name).write_text(content)
    return folder


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
