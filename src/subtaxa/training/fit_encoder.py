"""Train an encoder according to the settings: pretraining on the coarse labels, if any, then the method."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.registry import load_encoder
from subtaxa.errors import SettingError
from subtaxa.methods import method_class
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime.finite import NotFinite
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.memory_budget import Sizes
from subtaxa.training.trainer import Trainer, Watcher, accelerator
from subtaxa.training.training_state import History

# What follows training takes about this many times as long as encoding all texts once: the texts are encoded again, and
# the categories are found, named and drawn.
AFTERWARDS = 3.0


@dataclass(frozen=True)
class TrainingJob:
    """Everything that a process needs in order to take part in a training."""

    data: TrainingData
    settings: Settings
    seed: int
    folder: Path | None = None  # the folder of the checkpoint, which only the first process reads and writes
    sizes: Sizes | None = None  # sizes with which the training fits into memory
    until: float | None = None  # when the fit should end, as `time.time` gives it
    look: Callable[[Tensor], None] | None = None  # gets the features (N, D) before training, in the first process


@dataclass(frozen=True)
class TrainingResult:
    """The results of a training besides the encoder."""

    history: History
    before: Tensor  # (N, D) features of all texts before training
    after: Tensor  # (N, D) features of all texts after training
    lexical_weight: float = 0.0  # the weight of the lexical features beside the trained features


# An engine is `train_encoder` or a function that does the same on other machines or in other processes.
Engine = Callable[[Encoder, TrainingJob, Progress], TrainingResult]


def encoder_for(settings: Settings) -> Encoder:
    """A new encoder with these settings, not yet trained."""
    limit = None if settings.max_tokens == "model" else int(settings.max_tokens)
    encoder = load_encoder(
        settings.encoder,
        pooling=settings.pooling,
        max_tokens=limit,
        trained_layers=settings.trained_layers,
        dropout=None if settings.dropout == "model" else float(settings.dropout),
        prompt=settings.prompt,
        dimensions=None if settings.dimensions == "model" else int(settings.dimensions),
    )
    if not encoder.n_layers and settings.trained_layers != 0:
        raise SettingError(f"the encoder {settings.encoder!r} has no layers to train: use the preset quick")
    return encoder


def train(
    encoder: Encoder,
    data: TrainingData,
    settings: Settings,
    seed: int,
    progress: Progress,
    folder: Path | None = None,
    watcher: Watcher | None = None,
    until: float | None = None,
) -> tuple[History, Method]:
    """Pretrain the encoder and train it with the method, in place. Return the history and the trained method.

    With a `folder`, a stopped training continues from the checkpoints there. With `until`, it ends at that time.
    """
    chosen = method_class(settings.method)
    history: History = []
    if settings.pretrain_epochs:
        pretraining = method_class(chosen.pretraining)
        # `schedule_length` and `untrained_share` are the method's only. Pretraining has a schedule of its own.
        stretch = pretraining.defaults.get("schedule_length", 1.0)
        adapted = settings.with_(schedule_length=stretch, untrained_share=0.0)
        trainer = Trainer(adapted, seed, progress, folder and folder / "pretraining.safetensors", until)
        name, epochs = "Pretraining on the coarse labels", settings.pretrain_epochs
        rows = trainer.run(name, pretraining(adapted), encoder, data, epochs)
        history += [{"pretraining": 1.0, **row} for row in rows]
        data = replace(data, untrained=None)  # The encoder has changed, so these features are out of date.
    trainer = Trainer(settings, seed, progress, folder and folder / "training.safetensors", until)
    method = chosen(settings)
    history += trainer.run("Training", method, encoder, data, int(settings.epochs), watcher)
    return history, method


def train_encoder(encoder: Encoder, job: TrainingJob, progress: Progress) -> TrainingResult:
    """Train the encoder in place, and encode all texts before and after."""
    data, count = job.data, len(job.data)
    encoder.to(accelerator().device)
    if job.sizes is not None:
        encoder.chunk_tokens = min(encoder.chunk_tokens, job.sizes.chunk)
    reserved = 0 if job.sizes is None else job.sizes.required_bytes
    began = time.time()
    with progress.step("Encoding all texts before training", 2 * count) as step:
        tokens = encoder.cache_frozen(data.tokens, step.advance, reserved)
        before = encoder.features(tokens, advance=step.advance)
    until = None if job.until is None else job.until - AFTERWARDS * (time.time() - began)
    if job.look is not None:
        job.look(before.cpu())
    data = replace(data, tokens=tokens, untrained=before)
    history, method = train(encoder, data, job.settings, job.seed, progress, job.folder, until=until)
    with progress.step("Encoding all texts", count) as step:
        try:
            after = encoder.features(tokens, advance=step.advance)
        except NotFinite as error:
            raise error.at("after training") from error
    return TrainingResult(history, before.cpu(), after.cpu(), method.final_lexical_weight())
