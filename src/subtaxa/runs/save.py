"""A fitted state, written as a run folder: all of it or nothing."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.clustering.label_errors import label_errors
from subtaxa.data.tables import RUN_ASSIGNMENT_COLUMNS, csv_text, parquet_bytes
from subtaxa.report.content import Content
from subtaxa.report.page import ReportData, render_report
from subtaxa.report.tree_content import TreeContent
from subtaxa.runs import array_files, column_files, layout, reading, staging, target
from subtaxa.runs.checkpoint_identity import fingerprint
from subtaxa.runs.digests import digests
from subtaxa.runs.model_card import model_card
from subtaxa.runs.tree_files import write_tree
from subtaxa.runtime.cores import cores
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.json_files import json_text
from subtaxa.runtime.version import __version__
from subtaxa.taxonomy.category_tables import category_columns
from subtaxa.taxonomy.edit_log import write_log
from subtaxa.taxonomy.fitted_state import FittedState

LIBRARIES = ("torch", "transformers", "sentence-transformers", "scikit-learn", "numpy")


def save_run(state: FittedState, folder: Path, *, overwrite: bool, command: str = "") -> Path:
    """Write a run folder. An earlier run in it stays whole until all files have been written."""
    staging.recover(folder)
    target.check_target(folder, overwrite=overwrite, resume=False, changed=not _is_own(state, folder))
    facts = run_facts(state, command)
    with exclusive(folder), staging.staged(folder) as stage:
        for name, content in _shown(state, facts).items():
            (stage / name).write_bytes(content)
        try:
            state.reader.encoder.save(stage / layout.MODEL)
        except OSError:
            raise
        except Exception as error:  # safetensors and tokenizers report a full disk with errors of their own.
            raise OSError(f"the model cannot be written: {error}") from error
        (stage / layout.MODEL / "README.md").write_text(model_card(state, facts), encoding="utf-8")
        array_files.write_arrays(stage / layout.CLUSTERS, _arrays(state))
        if state.tree is not None:
            write_tree(stage, state.tree, state.trained.groups, state.trained.moved)
        array_files.write_arrays(stage / layout.FEATURES, {"features": state.features})
        if state.columns:
            column_files.write_columns(stage / layout.COLUMNS, state.columns)
        if state.reader.vocabulary is not None:
            array_files.write_arrays(stage / layout.WORDS, state.reader.vocabulary.arrays())
        (stage / layout.SUSPECT_LABELS).write_text(_suspects(state), encoding="utf-8", newline="")
        if state.earlier_edits:
            (stage / layout.EARLIER_EDITS).write_bytes(state.earlier_edits.encode())
        if state.edits:
            for name, content in _edited(state, write_log(state.edits)).items():
                (stage / name).write_bytes(content)
        facts["files"] = digests(stage)
        (stage / layout.RUN).write_text(json_text(facts), encoding="utf-8")
    return folder


def save_edits(state: FittedState, folder: Path) -> None:
    """Update a run folder to the edits of the state: the log, which counts, together with the files that show it."""
    facts = reading.read_run(folder)
    card = {f"{layout.MODEL}/README.md": model_card(state, facts).encode()}
    staging.replace_files(folder, _edited(state, write_log(state.edits)) | _shown(state, facts) | card)


def save_log(state: FittedState, log: str, folder: Path) -> None:
    """Write a log of edits to the run folder. The files that show the categories are updated when it is next opened."""
    staging.replace_files(folder, _edited(state, log), shown=False)


def _is_own(state: FittedState, folder: Path) -> bool:
    """Whether the state was loaded from this very folder."""
    source = getattr(state.reader, "folder", None)
    return source is not None and folder.exists() and source.resolve() == folder.resolve()


def _edited(state: FittedState, log: str) -> dict[str, bytes]:
    """The files of an edited run: the categories before the edits, and the log."""
    before = json_text(state.trained.taxonomy.to_dict())
    return {layout.TRAINED: before.encode(), layout.EDITS: log.encode()}


def run_facts(state: FittedState, command: str = "") -> dict[str, Any]:
    """The content of run.json."""
    data, request = state.data, state.request
    return {
        "format": layout.FORMAT,
        "subtaxa": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "preset": request.preset,
        "categories": dict(request.categories) if isinstance(request.categories, Mapping) else request.categories,
        "granularity": request.granularity,
        "seed": request.seed,
        "settings": state.settings.to_dict(),
        "labels": state.coarse_labels,
        "next_id": state.trained.next_id,
        "numbers": {label: choice._asdict() for label, choice in state.n_categories.items()},
        "confidence": state.calibration.to_dict(),
        "data": {
            "source": os.path.basename(data.source),
            "text_column": data.text_column,
            "label_column": data.label_column,
            "texts": len(data),
            "skipped": len(data.skipped),
            "fingerprint": fingerprint(data),
        },
        "columns": state.columns.kinds,
        "timings": state.timings,
        "history": state.history,
        "cores": cores(),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that a result depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def _arrays(state: FittedState) -> dict[str, Any]:
    """The content of clusters.safetensors, under the names that 0.1 gave its arrays."""
    trained = state.trained
    return {
        "centroids": trained.clusters.centroids,
        "parents": trained.clusters.parents,
        "labels": trained.labels,
        "confidences": trained.confidences,
        "memory_keys": trained.known_texts.keys,
        "memory_categories": trained.known_texts.categories,
        "map": state.map,
    }


def _shown(state: FittedState, facts: dict[str, Any]) -> dict[str, bytes]:
    """The files that show the current categories, by name."""
    taxonomy, data, of = state.taxonomy, state.data, state.taxonomy.by_id()
    columns = (
        data.rows,
        data.texts,
        data.labels,
        state.labels,
        [of[int(i)].name for i in state.labels],
        state.confidences,
        ["yes" if out else "no" for out in state.outliers.tolist()],
    )
    assignments = dict(zip(RUN_ASSIGNMENT_COLUMNS, columns, strict=True)) | column_files.shown_columns(state.columns)
    parquet = data.source.endswith(".parquet")
    table = parquet_bytes(assignments) if parquet else csv_text(assignments).encode()
    return {
        layout.TAXONOMY: json_text(taxonomy.to_dict()).encode(),
        layout.CATEGORIES: csv_text(category_columns(taxonomy)).encode(),
        f"{layout.ASSIGNMENTS}.{'parquet' if parquet else 'csv'}": table,
        layout.REPORT: render_report(report_data(state, facts)).encode(),
    }


def _suspects(state: FittedState) -> str:
    """The texts whose neighbours have another label, as CSV."""
    data, names = state.data, state.coarse_labels
    found = label_errors(state.features, np.searchsorted(names, data.labels), state.settings.label_error_share)
    columns = {
        "row": [data.rows[i] for i in found.texts],
        "text": [data.texts[i] for i in found.texts],
        "label": [data.labels[i] for i in found.texts],
        "neighbours_label": [names[i] for i in found.label],
        "share": list(found.share),
    }
    return csv_text(columns)


def report_data(state: FittedState, facts: dict[str, Any]) -> ReportData:
    """Everything that the report shows."""
    content = Content(
        fingerprint=facts["data"]["fingerprint"],
        edits=len(state.edits),
        taxonomy=state.taxonomy,
        texts=state.data.texts,
        rows=state.data.rows,
        categories=state.labels,
        confidences=state.confidences,
        outliers=state.outliers,
        positions=state.map,
        confused=state.confusions(),
        tree=_tree_content(state),
        columns=state.columns,
    )
    return ReportData(
        title=os.path.basename(state.data.source) or "Texts",
        content=content,
        n_skipped=len(state.data.skipped),
        numbers=state.n_categories,
        history=state.history,
        settings={name: facts[name] for name in ("categories", "granularity", "seed")} | facts["settings"],
        timings=state.timings,
        versions={"subtaxa": __version__, **facts["versions"]},
        command=facts["command"] or "Discovery(...).fit(texts, labels)",
        created=facts["created"],
    )


def _tree_content(state: FittedState) -> TreeContent | None:
    """The category tree for the report, or None in a run of version 0.1."""
    if state.tree is None:
        return None
    return TreeContent(
        described=state.tree,
        labels=state.coarse_labels,
        groups=state.current.groups,
        ids=state.current.ids,
        next_id=max(state.current.next_id, 1 + max((c.id for c in state.taxonomy), default=-1)),
        given_names=state.current.given_names,
        numbers=state.n_categories,
    )
