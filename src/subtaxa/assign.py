"""Assigning new texts from a file into the categories of a run, chunk by chunk, with every row and column kept."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subtaxa.clustering.outliers import is_outlier
from subtaxa.data.tables import write_frames
from subtaxa.errors import InputError
from subtaxa.runtime.atomic_files import whole_file
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.terminal import PrintableBytes
from subtaxa.settings import check_backend

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
ROWS = 10_000  # that are held and encoded at a time: enough to sort them by length


class Assigner:
    """A run, loaded, that says where texts go."""

    def __init__(self, run: Path, backend: str = "torch") -> None:
        from subtaxa.discovery import Discovery

        self.model = Discovery.load(run, backend=backend)
        self.lowest = self.model.outlier_threshold_
        self.model.state_.reader.inference_encoder  # noqa: B018 - it is loaded when it is first asked for

    def columns(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """What is known of each text's category, by the name of the column."""
        model = self.model
        place, sure, _, features = model.assign(texts, labels, progress)
        out = is_outlier(features, place, model.clusters_, self.lowest)
        return {
            "category_id": model.classes_[place],
            "category": [model.taxonomy_[int(i)].name for i in place],
            "category_label": [model.taxonomy_[int(i)].parent for i in place],
            "confidence": sure.round(4),
            "outlier": np.where(out, "yes", "no"),
        }

    def with_categories(
        self, frame: pd.DataFrame, column: str, label: str | None, progress: Progress | None = None
    ) -> pd.DataFrame:
        """The frame with its category columns, named so that they overwrite none of the user's."""
        labels = None if label is None else [str(value).strip() for value in frame[label]]
        values = self.columns(list(frame[column]), labels, progress)
        prefix = "subtaxa_" if set(map(str, frame.columns)) & values.keys() else ""
        filed = frame.copy()
        for name, value in values.items():
            filed[f"{prefix}{name}"] = value
        return filed


def assign_file(
    run: Path,
    file: Path,
    out: str,
    *,
    text: str | None,
    label: str | None,
    overwrite: bool,
    backend: str,
    progress: Progress,
) -> int:
    """Write the rows of `file` with their category to `out` ("-" is standard output) and return how many there were.

    The output appears whole or not at all. However long the file is, only some of its rows are held at a time.
    """
    from subtaxa.data.readers import open_file
    from subtaxa.data.texts import iter_tables, resolve_text_column

    check_backend(backend)
    target = _check_output(out, overwrite)
    tables = iter_tables(file, text, chunk_rows=ROWS)
    first = next(tables)  # a wrong column or a bad file is found before the model is loaded
    column = resolve_text_column(list(map(str, first.columns)), text, str(file))
    if label is not None and label not in first.columns:
        raise InputError(f"there is no column {label!r} in {file}, only {', '.join(map(str, first.columns))}")
    with progress.step("Loading the run"):
        assigner = Assigner(run, backend)
    with progress.step("WorkingTaxonomy the texts", open_file(file).count()) as step:
        chunks = (assigner.with_categories(frame, column, label, _Within(step)) for frame in chain([first], tables))
        if target is None:
            screen = sys.stdout.buffer
            return write_frames(chunks, PrintableBytes(screen) if sys.stdout.isatty() else screen, ".csv")
        with whole_file(target) as sink:
            return write_frames(chunks, sink, target.suffix.lower())


class _Within(Progress):
    """Tells what is done to some rows as part of a step of the whole file."""

    def __init__(self, whole: Step) -> None:
        super().__init__()
        self.whole = whole

    def _open(self, name: str, total: int) -> Step:
        return self.whole


def _check_output(out: str, overwrite: bool) -> Path | None:
    if out == "-":
        return None
    target = Path(out)
    if target.suffix.lower() not in KINDS:
        raise InputError(f"cannot write {out!r}: the name must end in {', '.join(KINDS)}")
    if target.is_dir():
        raise InputError(f"{out!r} is a folder: name a file")
    if target.exists() and not overwrite:
        raise InputError(f"{out!r} exists: name a new file or add --overwrite")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}: make it first")
    return target
