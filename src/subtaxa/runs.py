"""Saving a fitted estimator as a run folder, and loading it back."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError

from subtaxa import __version__, storage
from subtaxa.clustering import Clusters, Ints
from subtaxa.encoder_files import check_folder, save_pipeline
from subtaxa.errors import InputError
from subtaxa.memory import Memory
from subtaxa.model_card import model_card
from subtaxa.report import ReportData, render_report
from subtaxa.settings import Settings
from subtaxa.texts import CoarseTexts

if TYPE_CHECKING:
    from subtaxa.discovery import Discovery

LIBRARIES = ("torch", "transformers", "sentence-transformers", "scikit-learn", "numpy")
BORDERLINE = 4  # least certain texts shown for a category


def save_run(model: Discovery, folder: Path, *, overwrite: bool, command: str = "") -> Path:
    """Write everything, or nothing: the folder is filled only when all files are written."""
    storage.check_target(folder, overwrite=overwrite, resume=False)
    facts = run_facts(model, command)
    with storage.staged(folder) as stage:
        _write_tables(model, stage)
        (stage / storage.REPORT).write_text(render_report(_report_data(model, facts)), encoding="utf-8")
        try:
            save_pipeline(model.encoder_.pipeline, stage / storage.MODEL)
        except SafetensorError as error:  # how safetensors reports a full disk
            raise OSError(f"the model cannot be written: {error}") from error
        (stage / storage.MODEL / "README.md").write_text(model_card(model, facts), encoding="utf-8")
        storage.write_arrays(stage / storage.CLUSTERS, _arrays(model))
        (stage / storage.TAXONOMY).write_text(storage.json_text(model.taxonomy_.to_dict()), encoding="utf-8")
        (stage / storage.RUN).write_text(storage.json_text(facts), encoding="utf-8")
    return folder


def run_facts(model: Discovery, command: str = "") -> dict[str, Any]:
    """What run.json holds."""
    from subtaxa.discovery import fingerprint

    data = model.data_
    return {
        "format": storage.FORMAT,
        "subtaxa": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "preset": model.preset,
        "categories": model.categories,
        "seed": model.seed,
        "settings": model.settings_.to_dict(),
        "labels": model.coarse_labels_,
        "confidence_temperature": model.confidence_temperature_,
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


def load_run(cls: type[Discovery], folder: Path) -> Discovery:
    """The estimator as it was after `fit`."""
    from subtaxa.encoder import Encoder

    facts = storage.read_run(folder)
    check_folder(folder / storage.MODEL)
    arrays = storage.read_arrays(folder / storage.CLUSTERS)
    try:
        settings = Settings.from_preset("paper", **facts["settings"])
        model = cls(facts["categories"], preset=facts["preset"], seed=facts["seed"])
        model.labels_, model.confidences_ = arrays["labels"], arrays["confidences"]
        model.clusters_ = Clusters(arrays["centroids"], arrays["parents"])
        model.memory_ = Memory(arrays["memory_keys"], arrays["memory_categories"])
        model.coarse_labels_ = [str(name) for name in facts["labels"]]
        model.confidence_temperature_ = float(facts["confidence_temperature"])
        model.history_, model.timings_ = list(facts["history"]), dict(facts["timings"])
        model.data_ = _data(folder, facts["data"])
    except (KeyError, TypeError, AttributeError, ValueError, OSError) as error:
        raise InputError(f"the run folder {str(folder)!r} is damaged ({error}): run discover again") from error
    model.settings_ = settings
    model.taxonomy_ = storage.read_taxonomy(folder)
    _check_shapes(model, folder)
    model.encoder_ = Encoder(str((folder / storage.MODEL).resolve()), trained_layers="all")
    if model.encoder_.dimensions != model.clusters_.centroids.shape[1]:
        raise InputError(f"the model in {str(folder)!r} does not fit its categories: run discover again")
    return model


def _check_shapes(model: Discovery, folder: Path) -> None:
    k = len(model.taxonomy_)
    consistent = (
        model.clusters_.centroids.shape[0] == len(model.clusters_.parents) == k
        and len(model.labels_) == len(model.data_)
        and all(0 <= int(number) < k for number in np.unique(model.labels_))
    )
    if not consistent:
        raise InputError(f"the files of the run folder {str(folder)!r} do not belong together: run discover again")


def _data(folder: Path, facts: dict[str, Any]) -> CoarseTexts:
    rows = storage.read_assignments(folder)
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
    return {
        "centroids": model.clusters_.centroids,
        "parents": model.clusters_.parents,
        "labels": model.labels_,
        "confidences": model.confidences_,
        "memory_keys": model.memory_.keys,
        "memory_categories": model.memory_.categories,
    }


def _write_tables(model: Discovery, stage: Path) -> None:
    taxonomy, data = model.taxonomy_, model.data_
    categories = {
        "category_id": [c.id for c in taxonomy],
        "label": [c.parent for c in taxonomy],
        "category": [c.name for c in taxonomy],
        "size": [c.size for c in taxonomy],
        "keywords": [", ".join(c.keywords) for c in taxonomy],
        "examples": [" | ".join(c.examples) for c in taxonomy],
    }
    (stage / storage.CATEGORIES).write_text(storage.csv_text(categories), encoding="utf-8", newline="")
    assignments = {
        "row": list(data.rows),
        "text": list(data.texts),
        "label": list(data.labels),
        "category_id": [int(i) for i in model.labels_],
        "category": [taxonomy[int(i)].name for i in model.labels_],
        "confidence": [float(p) for p in model.confidences_],
    }
    if data.source.endswith(".parquet"):
        (stage / f"{storage.ASSIGNMENTS}.parquet").write_bytes(storage.parquet_bytes(assignments))
    else:
        name = f"{storage.ASSIGNMENTS}.csv"
        (stage / name).write_text(storage.csv_text(assignments), encoding="utf-8", newline="")


def _report_data(model: Discovery, facts: dict[str, Any]) -> ReportData:
    labels, sure = model.labels_, model.confidences_
    members: dict[int, Ints] = {c.id: np.flatnonzero(labels == c.id) for c in model.taxonomy_}
    doubtful = {i: rows[np.argsort(sure[rows], kind="stable")[:BORDERLINE]] for i, rows in members.items()}
    return ReportData(
        title=os.path.basename(model.data_.source) or "Texts",
        taxonomy=model.taxonomy_,
        n_texts=len(model.data_),
        n_skipped=len(model.data_.skipped),
        mean_confidence=float(sure.mean()),
        confidences={i: float(sure[rows].mean()) for i, rows in members.items()},
        borderline={i: [model.data_.texts[j] for j in rows] for i, rows in doubtful.items()},
        history=model.history_,
        settings={"categories": model.categories, "seed": model.seed, **facts["settings"]},
        timings=model.timings_,
        versions={"subtaxa": __version__, **facts["versions"]},
        command=facts["command"] or "Discovery(...).fit(texts, labels)",
        created=facts["created"],
    )
