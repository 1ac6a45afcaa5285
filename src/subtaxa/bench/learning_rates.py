"""The learning rate of each method: from the grid of its budget, chosen on HWU64 without fine labels.

A trial trains on a sample of the training texts. Other training texts then look for their nearest neighbours in the
sample: the agreement is the share of neighbours that have the text's coarse label. Trials are kept in one file for each
budget and method, so that a stopped choice continues.

N texts, n queries, D dimensions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from subtaxa.bench.budgets import budget_of
from subtaxa.bench.code_digest import code_of
from subtaxa.bench.datasets import Ints, Part
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.lexical import lexical_features
from subtaxa.encoders.tokens import Tokens
from subtaxa.errors import SubtaxaError
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.finite import NotFinite
from subtaxa.runtime.json_files import json_text
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.fit_encoder import encoder_for, train

# The data set on which learning rates are chosen, for all data sets.
DATASET = "hwu64"
# Texts that a trial trains on, and texts that look for their neighbours.
SAMPLE, QUERIES = 2000, 1000
# Neighbours of each query.
NEAREST = 10
# Agreements that differ by less are equal: this is about the standard error over the queries.
TOLERANCE = 0.005
FOLDER = "learning-rates"
# Tokens of the most recent trial; the next one often needs the same.
_latest: dict[Any, tuple[Tokens, Tokens]] = {}


@dataclass(frozen=True)
class Trial:
    """The result of one learning rate. `loss` is that of the last pass over the texts, or None if training diverged."""

    rate: float
    agreement: float
    loss: float | None


def choose(trials: Sequence[Trial]) -> Trial:
    """The trial with the best agreement. Among those that are about equally good, the lowest loss wins.

    A trial whose training diverged is never chosen. Equal losses are decided by the lower rate.
    """
    finite = [(trial, trial.loss) for trial in trials if trial.loss is not None and math.isfinite(trial.loss)]
    if not finite:
        tried = ", ".join(f"{trial.rate:g}" for trial in trials)
        raise SubtaxaError(f"training diverged with every learning rate of the budget ({tried}): extend its grid")
    best = max(trial.agreement for trial, _ in finite)
    close = [(loss, trial.rate, trial) for trial, loss in finite if trial.agreement >= best - TOLERANCE]
    return min(close)[2]


def file_of(root: Path, budget: str, method: str) -> Path:
    return root / FOLDER / budget / f"{method}.json"


def read_trials(root: Path, budget: str, method: str) -> list[Trial]:
    """The finished trials of a method by the present grid."""
    path = file_of(root, budget, method)
    if not path.exists():
        return []
    try:
        trials = [Trial(**row) for row in json.loads(path.read_text("utf-8"))["trials"]]
    except (ValueError, TypeError, KeyError) as error:
        raise SubtaxaError(f"{str(path)!r} is not a list of trials: delete it and choose the rate again") from error
    return [trial for trial in trials if trial.rate in budget_of(budget).rates]


def chosen_rate(root: Path, budget: str, method: str) -> float | None:
    """The chosen rate of a method, or None if some rate of the grid has not been tried."""
    trials = read_trials(root, budget, method)
    return choose(trials).rate if len(trials) == len(budget_of(budget).rates) else None


def choose_rate(
    root: Path,
    budget: str,
    method: str,
    part: Part,
    n_categories: int,
    settings_at: Callable[[float], Settings],
    progress: Progress,
) -> Trial:
    """Try the missing rates on the training part of the data set, and return the chosen trial."""
    trials = read_trials(root, budget, method)
    texts, codes = part.texts, part.coarse_codes
    for rate in budget_of(budget).rates:
        if rate in {trial.rate for trial in trials}:
            continue
        progress.say(f"learning rate {rate:g} of {method}, budget {budget}")
        trials.append(run_trial(texts, codes, n_categories, settings_at(rate), progress))
        _write(file_of(root, budget, method), method, budget, trials)
    return choose(trials)


def _write(path: Path, method: str, budget: str, trials: list[Trial]) -> None:
    about = {"method": method, "budget": budget, "dataset": DATASET, "texts": SAMPLE, "code": code_of(method)["digest"]}
    rows = sorted(map(asdict, trials), key=lambda row: float(row["rate"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json_text({**about, "trials": rows}).encode())


def run_trial(texts: Sequence[str], codes: Ints, n_categories: int, settings: Settings, progress: Progress) -> Trial:
    """Train on a sample with the learning rate of the settings. `codes` (N,) are coarse labels."""
    order = np.random.default_rng(0).permutation(len(texts))
    n_queries = min(QUERIES, len(texts) // 3)
    sample, queries = np.sort(order[n_queries:][:SAMPLE]), np.sort(order[:n_queries])
    known, new = (tuple(texts[i] for i in rows) for rows in (sample, queries))
    settings = settings.for_data(known)
    labels = torch.from_numpy(np.unique(codes, return_inverse=True)[1].astype(np.int64))  # (N,)
    encoder = encoder_for(settings)
    tokens, new_tokens = _read(known, new, settings, encoder, progress)
    lexical = torch.from_numpy(lexical_features(known)[0])
    data = TrainingData(tokens, labels[sample], int(labels.max()) + 1, n_categories, lexical=lexical)
    try:
        history, learner = train(encoder, data, settings, 0, progress)
        features, new_features = encoder.features(tokens), encoder.features(new_tokens)  # (N, D), (n, D)
    except NotFinite:
        return Trial(float(settings.learning_rate), 0.0, None)
    batch = encoder.batch(tokens, torch.arange(min(len(sample), settings.batch_size)))
    with torch.no_grad():
        parts = learner.loss(batch).keys()  # The history has these names among others.
    loss = sum(history[-1][name] for name in parts)
    found = agreement(new_features, labels[queries], features, labels[sample])
    return Trial(float(settings.learning_rate), found, round(loss, 5))


def _read(
    known: tuple[str, ...], new: tuple[str, ...], settings: Settings, encoder: Encoder, progress: Progress
) -> tuple[Tokens, Tokens]:
    """The tokens of both samples with the output of the frozen layers, kept for the next trial."""
    key = (
        known,
        new,
        settings.encoder,
        settings.pooling,
        settings.prompt,
        settings.dimensions,
        settings.max_tokens,
        encoder.n_frozen_layers,
    )
    if key not in _latest:
        _latest.clear()
        with progress.step("Reading the sample with the encoder", 2 * (len(known) + len(new))) as step:
            tokens, new_tokens = (
                encoder.cache_frozen(encoder.tokenise(some, step.advance), step.advance) for some in (known, new)
            )
        _latest[key] = tokens, new_tokens
    return _latest[key]


def agreement(queries: Tensor, query_labels: Tensor, rows: Tensor, labels: Tensor) -> float:
    """The share of the nearest rows (N, D) of the queries (n, D) that have the query's coarse label."""
    near = (queries @ rows.T).topk(min(NEAREST, len(rows)), dim=1).indices.cpu()  # (n, NEAREST)
    return round(float((labels[near] == query_labels[:, None]).float().mean()), 5)
