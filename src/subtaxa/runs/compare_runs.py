"""Compare the categories of two run folders. Neither the models nor the features are read."""

from __future__ import annotations

from pathlib import Path

from subtaxa.runs import reading
from subtaxa.runs.manifest import shows_log
from subtaxa.taxonomy.comparison import CategorisedTexts, Comparison, compare


def compare_runs(a: Path, b: Path) -> Comparison:
    """Compare two runs by the texts that both have."""
    return compare(_read(a), _read(b))


def _read(folder: Path) -> CategorisedTexts:
    reading.read_run(folder)
    if not shows_log(folder):  # A series of edits was stopped before its end.
        from subtaxa.runs.refresh import refresh

        refresh(folder)
    found = reading.read_assignments(folder, ("text", "label", "category_id"))
    return CategorisedTexts(reading.read_taxonomy(folder), found["text"], found["label"], found["category_id"])
