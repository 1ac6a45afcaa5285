"""Train a method on a benchmark, and encode its training and test texts.

N texts, D dimensions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from subtaxa.bench.datasets import Dataset
from subtaxa.bench.fine_watcher import FineWatcher
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.lexical import concatenated, lexical_features
from subtaxa.encoders.tokens import Tokens
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.fit_encoder import encoder_for, train
from subtaxa.training.training_state import History

# Tokens of the most recent run; the next run often needs the same.
_latest: dict[Any, tuple[Tokens, Tokens]] = {}


def trained_features(
    dataset: Dataset, settings: Settings, seed: int, progress: Progress, checkpoint: Path, curves: bool
) -> tuple[Floats, Floats, History]:
    """Train, then return the features of the training and the test texts, and the history of the epochs."""
    with progress.step("Loading the encoder"):
        encoder = encoder_for(settings)
    tokens, test_tokens = _read(dataset, settings, encoder, progress)
    words, vocabulary = lexical_features(dataset.train.texts)
    data = TrainingData(
        tokens,
        torch.from_numpy(dataset.train.coarse_codes),
        dataset.n_coarse,
        dataset.n_fine,
        lexical=torch.from_numpy(words),
    )
    watcher = FineWatcher(
        dataset.train.fine,
        dataset.test.fine,
        dataset.n_fine,
        seed,
        (lambda: encoder.features(test_tokens).cpu().numpy()) if curves else None,
    )
    before = watcher.epoch()
    history, learner = train(encoder, data, settings, seed, progress, checkpoint, watcher)
    with progress.step("Encoding all texts", len(tokens) + len(test_tokens)) as step:
        features = [encoder.features(part, advance=step.advance).cpu().numpy() for part in (tokens, test_tokens)]
    weight = learner.final_lexical_weight()
    if vocabulary is not None and weight:
        new = vocabulary.features(dataset.test.texts)
        features = [concatenated(*rows, weight) for rows in zip(features, (words, new), strict=True)]
    return features[0], features[1], [{"epoch": 0, **before}, *history]


def _read(dataset: Dataset, settings: Settings, encoder: Encoder, progress: Progress) -> tuple[Tokens, Tokens]:
    """The tokens of both parts with the output of the frozen layers, kept for the next run that needs the same."""
    key = (
        dataset.train,
        dataset.test,
        settings.encoder,
        settings.pooling,
        settings.prompt,
        settings.dimensions,
        settings.max_tokens,
        encoder.n_frozen_layers,
    )
    if key not in _latest:
        _latest.clear()
        with progress.step("Reading all texts with the encoder", 2 * (len(dataset.train) + len(dataset.test))) as step:
            train, test = (
                encoder.cache_frozen(encoder.tokenise(part.texts, step.advance), step.advance)
                for part in (dataset.train, dataset.test)
            )
        _latest[key] = train, test
    return _latest[key]
