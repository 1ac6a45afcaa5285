"""From settings to a trained encoder: coarse pretraining, if any, then the method."""

from __future__ import annotations

from pathlib import Path

from subtaxa.encoder import Encoder
from subtaxa.methods import method_class
from subtaxa.methods.base import TrainingData
from subtaxa.progress import Progress
from subtaxa.settings import Settings
from subtaxa.trainer import History, Trainer, Watcher


def encoder_for(settings: Settings) -> Encoder:
    """The encoder as the settings want it, not yet trained."""
    limit = None if settings.max_tokens == "model" else int(settings.max_tokens)
    return Encoder(settings.encoder, pooling=settings.pooling, max_tokens=limit, trained_layers=settings.trained_layers)


def train(
    encoder: Encoder,
    data: TrainingData,
    settings: Settings,
    seed: int,
    progress: Progress,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> History:
    """Train the encoder in place. With a `folder`, a stopped training continues from there."""
    chosen = method_class(settings.method)
    history: History = []
    if settings.pretrain_epochs:
        trainer = Trainer(settings, seed, progress, folder and folder / "pretraining.safetensors")
        method = method_class(chosen.pretraining)(settings)
        rows = trainer.run("Pretraining on the labels", method, encoder, data, settings.pretrain_epochs)
        history += [{"pretraining": 1.0, **row} for row in rows]
    trainer = Trainer(settings, seed, progress, folder and folder / "training.safetensors")
    return history + trainer.run("Training", chosen(settings), encoder, data, int(settings.epochs), watcher)
