"""One benchmark run: train, score by every protocol, write the record. An interrupted run is resumed."""

from __future__ import annotations

import datetime
import math
import platform
import shutil
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from subtaxa import __version__
from subtaxa.bench import baselines, learning_rates, records
from subtaxa.bench.budgets import budget_of
from subtaxa.bench.code_digest import code_of
from subtaxa.bench.datasets import Dataset
from subtaxa.bench.peak_memory import PeakMemory
from subtaxa.bench.protocols import RESTARTS, score_features
from subtaxa.bench.scoring import Score
from subtaxa.bench.trained_features import trained_features
from subtaxa.data.tables import csv_text
from subtaxa.errors import SubtaxaError
from subtaxa.methods import settings_for
from subtaxa.runs.save import versions
from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.cores import cores
from subtaxa.runtime.folder_lock import try_exclusive
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.training_state import History

# Methods whose test texts figure 5 shows on a map.
MAPPED = ("wscl", "dna")


def run(
    job: records.Job,
    dataset: Dataset,
    root: Path,
    progress: Progress,
    command: str = "",
    curves: bool = True,
    renew: bool = False,
) -> records.Record | None:
    """Run a job unless its record exists. Returns the record, or None if another process is running the job.

    With `curves`, the test texts are also scored after each epoch. With `renew`, a record of other code is replaced.
    """
    folder, dataset = job.folder(root), dataset.limited(job.limit)
    done = _finished(folder, dataset, renew)
    if done is not None:
        return done
    with try_exclusive(folder) as is_ours:
        if not is_ours:
            return None
        done = _finished(folder, dataset, renew)  # Another process may have finished it in the meantime.
        rate = learning_rates.chosen_rate(root, job.budget, job.method) if job.budget else None
        return done or _run(job, dataset, settings_of(job, dataset, rate), folder, progress, command, curves)


def _finished(folder: Path, dataset: Dataset, renew: bool) -> records.Record | None:
    """The record, if there is one. A record of other data under the same name is an error."""
    done = records.read_record(folder)
    if done is not None and renew and records.is_stale(done):
        return None
    if done is not None and done.data.get("fingerprint", dataset.fingerprint) != dataset.fingerprint:
        raise SubtaxaError(
            f"{str(folder)!r} holds a run on other data of the same name: choose another folder with --runs"
        )
    return done


def settings_of(job: records.Job, dataset: Dataset, rate: float | None = None) -> Settings:
    """The settings of a job. Later sources override earlier ones: preset, data set, method, budget, the job's changes.

    `rate` is the learning rate that was chosen for the method within the budget.
    """
    return unresolved_settings(job, dataset, rate).for_data(dataset.train.texts)


def unresolved_settings(job: records.Job, dataset: Dataset, rate: float | None = None) -> Settings:
    """The settings of a job, in which some may still be "auto"."""
    data = {**dataset.settings, **(dataset.paper_settings if job.preset == "paper" else {})}
    method = {} if job.method in baselines.BASELINES else {"method": job.method}
    budget = dict(budget_of(job.budget).settings) if job.budget else {}
    chosen = {} if rate is None else {"learning_rate": rate}
    return settings_for(job.preset, data, **{**method, **budget, **chosen, **job.changes})


def _run(
    job: records.Job,
    dataset: Dataset,
    settings: Settings,
    folder: Path,
    progress: Progress,
    command: str,
    curves: bool,
) -> records.Record:
    peak, begun = PeakMemory(), time.perf_counter()
    code = code_of(job.method, bool(settings.pretrain_epochs))
    checkpoint = folder / records.CHECKPOINT
    resumed = False
    history: History = []
    if job.method in baselines.BASELINES:
        scores = baselines.run(job.method, dataset, settings, job.seed, progress)
    else:
        resumed = records.open_checkpoint(
            checkpoint, {"data": dataset.fingerprint, "settings": settings.to_dict(), "code": code["digest"]}
        )
        train_features, test_features, history = trained_features(
            dataset, settings, job.seed, progress, checkpoint, curves
        )
        with progress.step("Scoring"):
            scores = score_features(
                train_features,
                dataset.train.coarse_codes,
                test_features,
                dataset.test.fine,
                dataset.n_fine,
                job.seed,
            )
            if job.method in MAPPED:
                write_whole(folder / records.MAP, _map(test_features, dataset, job.seed).encode())
    record = records.write_record(
        folder,
        {
            **records.identity(job),
            "code": code,
            "settings": settings.to_dict() | {"method": job.method, "restarts": RESTARTS},
            "data": {
                "train": len(dataset.train),
                "test": len(dataset.test),
                "coarse": dataset.n_coarse,
                "fine": dataset.n_fine,
                "fingerprint": dataset.fingerprint,
                "skipped": {"train": dataset.train.skipped, "test": dataset.test.skipped},
                "notes": list(dataset.notes),
            },
            "scores": {name: _rounded(found) for name, found in scores.items()},
            "history": [{key: _round(value) for key, value in row.items()} for row in history],
            "seconds": _seconds(history, time.perf_counter() - begun, resumed),
            "peak_memory_mb": peak.megabytes(),
            "machine": machine(),
            "command": command,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        },
    )
    shutil.rmtree(checkpoint, ignore_errors=True)
    return record


def _map(features: Floats, dataset: Dataset, seed: int) -> str:
    """A t-SNE map of the test texts with their labels but without the texts, as CSV. Figure 5 shows it."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(30.0, max(1.0, (len(features) - 1) / 3))
    with threadpool_limits(1, "openmp"):  # Several threads would sum in varying order.
        places = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(features)  # (N, 2)
    columns = {"x": places[:, 0], "y": places[:, 1], "coarse": dataset.test.coarse, "fine": dataset.test.fine}
    return csv_text(columns, decimals=2)


def _seconds(history: History, whole: float, resumed: bool) -> dict[str, Any]:
    epochs = [row["seconds"] for row in history if "seconds" in row and not row.get("pretraining")]
    return {
        "whole": round(whole, 1),
        "resumed": resumed,  # If true, `whole` covers the last part of the run only.
        "training": round(sum(row.get("seconds", 0.0) for row in history), 1),
        "per_epoch": round(sum(epochs) / len(epochs), 2) or None if epochs else None,
    }


def machine() -> dict[str, Any]:
    """The machine of a run and the versions of the libraries."""
    return {
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "kind": platform.machine(),
        "versions": {"subtaxa": __version__, "scipy": version("scipy")} | versions(),
    }


def _rounded(found: Score) -> dict[str, float]:
    return {name: round(value, 2) for name, value in vars(found).items()}


def _round(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 5)
