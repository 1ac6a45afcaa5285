"""Saving a fitted estimator as a run folder, and loading it back."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subtaxa import __version__
from subtaxa.clustering.calibration import Calibration, Fit
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.label_errors import suspect_labels
from subtaxa.data.tables import csv_text, parquet_bytes
from subtaxa.data.texts import CoarseTexts
from subtaxa.encoders.loading import check_folder
from subtaxa.errors import InputError
from subtaxa.report import Content, ReportData, render_report
from subtaxa.runs import layout
from subtaxa.runs.checkpoint_identity import fingerprint
from subtaxa.runs.digests import digests, verify
from subtaxa.runs.model_card import model_card
from subtaxa.runtime.atomic_files import write_together
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.json_files import json_text, read_limited
from subtaxa.settings import Settings
from subtaxa.taxonomy.edit_log import Edit, read_log, write_log
from subtaxa.taxonomy.editable import Trained

if TYPE_CHECKING:
    from subtaxa.discovery import Discovery

LIBRARIES = ("torch", "transformers", "sentence-transformers", "scikit-learn", "numpy")


def save_run(model: Discovery, folder: Path, *, overwrite: bool, command: str = "") -> Path:
    """Write everything, or nothing: the folder is filled only when all files are written."""
    layout.check_target(folder, overwrite=overwrite, resume=False)
    facts = run_facts(model, command)
    with exclusive(folder), layout.staged(folder) as stage:
        for name, content in _shown(model, facts).items():
            (stage / name).write_bytes(content)
        try:
            model.encoder_.save(stage / layout.MODEL)
        except OSError:
            raise
        except Exception as error:  # by which safetensors and tokenizers report a full disk
            raise OSError(f"the model cannot be written: {error}") from error
        (stage / layout.MODEL / "README.md").write_text(model_card(model, facts), encoding="utf-8")
        layout.write_arrays(stage / layout.CLUSTERS, _arrays(model))
        layout.write_arrays(stage / layout.FEATURES, {"features": model.features_})
        if model.vocabulary_ is not None:
            layout.write_arrays(stage / layout.WORDS, model.vocabulary_.arrays())
        (stage / layout.SUSPECTS).write_text(_suspects(model), encoding="utf-8", newline="")
        if model.earlier_edits_:
            (stage / layout.PAST).write_bytes(model.earlier_edits_.encode())
        if model.edits_:
            for name, content in _edited(model, model.edits_).items():
                (stage / name).write_bytes(content)
        facts["files"] = digests(stage)
        (stage / layout.RUN).write_text(json_text(facts), encoding="utf-8")
    return folder


def save_edits(model: Discovery, folder: Path) -> None:
    """Bring a run folder up to the model's edits: the log first, which alone counts, then what is shown."""
    facts = layout.read_run(folder)
    card = {f"{layout.MODEL}/README.md": model_card(model, facts).encode()}
    write_together(folder, _edited(model, model.edits_) | _shown(model, facts) | card)


def save_log(model: Discovery, log: Sequence[Edit], folder: Path) -> None:
    """Write a log of edits of the model to its run folder; what is shown there stays behind."""
    write_together(folder, _edited(model, log))


def _edited(model: Discovery, log: Sequence[Edit]) -> dict[str, bytes]:
    """The files of an edited run: what there was before, and what was done to it."""
    before = json_text(model.trained_.taxonomy.to_dict())
    return {layout.TRAINED: before.encode(), layout.EDITS: write_log(log).encode()}


def run_facts(model: Discovery, command: str = "") -> dict[str, Any]:
    """What run.json holds."""
    data = model.data_
    return {
        "format": layout.FORMAT,
        "subtaxa": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "preset": model.preset,
        "categories": dict(model.categories) if isinstance(model.categories, Mapping) else model.categories,
        "granularity": model.granularity,
        "seed": model.seed,
        "settings": model.settings_.to_dict(),
        "labels": model.coarse_labels_,
        "next_id": model.trained_.next_id,
        "numbers": {label: choice._asdict() for label, choice in model.n_categories_.items()},
        "confidence": {name: fit._asdict() for name, fit in model.calibration_._asdict().items()},
        "data": {
            "source": os.path.basename(data.source),
            "text_column": data.text_column,
            "label_column": data.label_column,
            "texts": len(data),
            "skipped": len(data.skipped),
            "fingerprint": fingerprint(data),
        },
        "timings": model.timings_,
        "history": model.history_,
        "cores": cores(),
        "versions": versions(),
    }


def cores() -> int | None:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that a result depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def load_run(cls: type[Discovery], folder: Path, backend: str) -> Discovery:
    """The estimator as it was after `fit`."""
    facts = layout.read_run(folder)
    check_folder(folder / layout.MODEL)
    verify(folder, facts, layout.CLUSTERS, layout.FEATURES)
    arrays = layout.read_arrays(folder / layout.CLUSTERS)
    try:
        settings = Settings.from_preset("paper", **facts["settings"])
        model = cls(facts["categories"], granularity=facts["granularity"], preset=facts["preset"], seed=facts["seed"])
        model.labels_, model.confidences_ = arrays["labels"], arrays["confidences"]
        model.map_ = arrays["map"]
        model.clusters_ = Clusters(arrays["centroids"], arrays["parents"])
        model.features_ = layout.read_arrays(folder / layout.FEATURES)["features"]
        model.known_texts_ = KnownTexts(arrays["memory_keys"], arrays["memory_categories"])
        model.coarse_labels_ = [str(name) for name in facts["labels"]]
        model.n_categories_ = layout.read_numbers(facts)
        model.calibration_ = Calibration(*(Fit(**facts["confidence"][name]) for name in Calibration._fields))
        model.history_, model.timings_ = list(facts["history"]), dict(facts["timings"])
        model.data_ = _data(folder, facts["data"])
        next_id = int(facts["next_id"])
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OSError) as error:
        raise InputError(f"the run folder {str(folder)!r} is damaged ({error}): run discover again") from error
    model.settings_ = settings
    log = folder / layout.EDITS
    trained = layout.read_taxonomy(folder, layout.TRAINED if log.exists() else layout.TAXONOMY)
    model.taxonomy_ = replace(trained, editor=model.edit)
    _check_shapes(model, folder)
    model.edits_, past = [], folder / layout.PAST
    model.earlier_edits_ = read_limited(past, "replace") if past.exists() else ""
    model.trained_ = Trained(
        model.labels_, model.clusters_, model.taxonomy_, model.known_texts_, model.confidences_, next_id
    )
    if log.exists():
        _follow(model, log)
    model.folder_, model.backend_ = folder, backend
    return model


def _follow(model: Discovery, log: Path) -> None:
    edits = read_log(read_limited(log, "replace"), str(log))
    try:
        model.follow(edits)
    except InputError as error:
        raise InputError(
            f"{str(log)!r} does not belong to this run ({error}): put the right one in its place"
        ) from error


def _check_shapes(model: Discovery, folder: Path) -> None:
    """All arrays must be of the kind and shape that they were written with, and name only what there is."""
    k, n, ids = len(model.taxonomy_), len(model.data_), [category.id for category in model.taxonomy_]
    centroids, parents, memory = model.clusters_.centroids, model.clusters_.parents, model.known_texts_
    consistent = (
        all(array.dtype.kind == "f" for array in (centroids, model.features_, model.map_, model.confidences_))
        and all(array.dtype.kind in "iu" for array in (parents, model.labels_, memory.keys, memory.categories))
        and centroids.ndim == model.features_.ndim == 2
        and centroids.shape == (k, model.features_.shape[1])
        and parents.shape == (k,)
        and model.labels_.shape == model.confidences_.shape == (n,) == model.features_.shape[:1]
        and model.map_.shape == (n, 2)
        and memory.keys.shape == memory.categories.shape == (memory.keys.size,)
        and len(set(ids)) == k
        and set(np.unique(model.labels_).tolist()) <= set(ids)
        and set(parents.tolist()) <= set(range(len(model.coarse_labels_)))
        and set(memory.categories.tolist()) <= set(range(k))
    )
    if not consistent:
        raise InputError(f"the files of the run folder {str(folder)!r} do not belong together: run discover again")


def _data(folder: Path, facts: dict[str, Any]) -> CoarseTexts:
    rows = layout.read_assignments(folder)
    return CoarseTexts(
        tuple(rows["text"]),
        tuple(rows["label"]),
        tuple(rows["row"]),
        (),
        str(facts["text_column"]),
        str(facts["label_column"]),
        str(facts["source"]),
    )


def _arrays(model: Discovery) -> dict[str, Any]:
    trained = model.trained_
    return {
        "centroids": trained.clusters.centroids,
        "parents": trained.clusters.parents,
        "labels": trained.labels,
        "confidences": trained.confidences,
        "memory_keys": trained.memory.keys,
        "memory_categories": trained.memory.categories,
        "map": model.map_,
    }


def _shown(model: Discovery, facts: dict[str, Any]) -> dict[str, bytes]:
    """The files that show the categories as they are now, by name."""
    taxonomy, data, of = model.taxonomy_, model.data_, model.taxonomy_.by_id()
    categories = {
        "category_id": [c.id for c in taxonomy],
        "label": [c.parent for c in taxonomy],
        "category": [c.name for c in taxonomy],
        "size": [c.size for c in taxonomy],
        "stability": ["" if c.stability is None else c.stability for c in taxonomy],
        "keywords": [", ".join(c.keywords) for c in taxonomy],
        "examples": [" | ".join(c.examples) for c in taxonomy],
    }
    assignments = {
        "row": list(data.rows),
        "text": list(data.texts),
        "label": list(data.labels),
        "category_id": [int(i) for i in model.labels_],
        "category": [of[int(i)].name for i in model.labels_],
        "confidence": [float(p) for p in model.confidences_],
        "outlier": ["yes" if out else "no" for out in model.outliers_.tolist()],
    }
    parquet = data.source.endswith(".parquet")
    table = parquet_bytes(assignments) if parquet else csv_text(assignments).encode()
    return {
        layout.TAXONOMY: json_text(taxonomy.to_dict()).encode(),
        layout.CATEGORIES: csv_text(categories).encode(),
        f"{layout.ASSIGNMENTS}.{'parquet' if parquet else 'csv'}": table,
        layout.REPORT: render_report(report_data(model, facts)).encode(),
    }


def _suspects(model: Discovery) -> str:
    """The texts whose neighbours carry another label, as CSV."""
    data, names = model.data_, model.coarse_labels_
    found = suspect_labels(model.features_, np.searchsorted(names, data.labels))
    columns = {
        "row": [data.rows[i] for i in found.texts],
        "text": [data.texts[i] for i in found.texts],
        "label": [data.labels[i] for i in found.texts],
        "neighbours_label": [names[i] for i in found.label],
        "share": list(found.share),
    }
    return csv_text(columns)


def report_data(model: Discovery, facts: dict[str, Any]) -> ReportData:
    """Everything the report of a model shows."""
    content = Content(
        fingerprint=facts["data"]["fingerprint"],
        edits=len(model.edits_),
        taxonomy=model.taxonomy_,
        texts=model.data_.texts,
        rows=model.data_.rows,
        categories=model.labels_,
        confidences=model.confidences_,
        outliers=model.outliers_,
        places=model.map_,
        confused=model.confusions(),
    )
    return ReportData(
        title=os.path.basename(model.data_.source) or "Texts",
        content=content,
        n_skipped=len(model.data_.skipped),
        numbers=model.n_categories_,
        history=model.history_,
        settings={name: facts[name] for name in ("categories", "granularity", "seed")} | facts["settings"],
        timings=model.timings_,
        versions={"subtaxa": __version__, **facts["versions"]},
        command=facts["command"] or "Discovery(...).fit(texts, labels)",
        created=facts["created"],
    )
