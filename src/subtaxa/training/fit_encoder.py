"""Train an encoder according to the settings: pretraining on the coarse labels, if any, then the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from subtaxa.clustering.number_of_categories import Estimate
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.registry import load_encoder
from subtaxa.methods import method_class
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime.finite import NotFinite
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.memory_budget import Sizes
from subtaxa.training.trainer import History, Trainer, Watcher, accelerator


@dataclass(frozen=True)
class Job:
    """Everything that a process needs to take part in a training."""

    data: TrainingData
    settings: Settings
    seed: int
    folder: Path | None = None  # of the checkpoint; only the first process looks into it
    sizes: Sizes | None = None  # by which it fits into memory


@dataclass(frozen=True)
class Outcome:
    """The results of a training besides the encoder."""

    history: History
    before: Tensor  # (N, D) features of all texts before training
    after: Tensor  # (N, D)
    judged: Estimate | None = None  # how many categories the texts showed in between, if the method looked
    words_kept: float = 0.0  # how much the words count beside the features


Engine = Callable[[Encoder, Job, Progress], Outcome]  # `learn`, or something that does the same elsewhere


def encoder_for(settings: Settings) -> Encoder:
    """A new encoder with these settings, not yet trained."""
    limit = None if settings.max_tokens == "model" else int(settings.max_tokens)
    return load_encoder(
        settings.encoder,
        pooling=settings.pooling,
        max_tokens=limit,
        trained_layers=settings.trained_layers,
        dropout=None if settings.dropout == "model" else float(settings.dropout),
    )


def train(
    encoder: Encoder,
    data: TrainingData,
    settings: Settings,
    seed: int,
    progress: Progress,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> tuple[History, Method]:
    """Train the encoder in place. With a `folder`, a stopped training continues from there. Returns the history and the
    method, which may have learned more than that."""
    chosen = method_class(settings.method)
    history: History = []
    if settings.pretrain_epochs:
        before = method_class(chosen.pretraining)
        # `schedule_length` stretches the method's schedule only; pretraining has a schedule of its own.
        own = settings.with_(schedule_length=before.defaults.get("schedule_length", 1.0))
        trainer = Trainer(own, seed, progress, folder and folder / "pretraining.safetensors")
        rows = trainer.run("Pretraining on the coarse labels", before(own), encoder, data, settings.pretrain_epochs)
        history += [{"pretraining": 1.0, **row} for row in rows]
        data = replace(data, untrained=None)  # The encoder has changed, so these features are out of date.
    trainer = Trainer(settings, seed, progress, folder and folder / "training.safetensors")
    learner = chosen(settings)
    history += trainer.run("Training", learner, encoder, data, int(settings.epochs), watcher)
    return history, learner


def learn(encoder: Encoder, job: Job, progress: Progress) -> Outcome:
    """Train the encoder in place; the outcome has the features of all texts before and after."""
    data, count = job.data, len(job.data)
    encoder.to(accelerator().device)
    if job.sizes is not None:
        encoder.chunk_tokens = min(encoder.chunk_tokens, job.sizes.chunk)
    reserved = 0 if job.sizes is None else job.sizes.need
    with progress.step("Encoding all texts before training", 2 * count) as step:
        tokens = encoder.cache_frozen(data.tokens, step.advance, reserved)
        before = encoder.features(tokens, advance=step.advance)
    data = replace(data, tokens=tokens, untrained=before)
    history, learner = train(encoder, data, job.settings, job.seed, progress, job.folder)
    with progress.step("Encoding all texts", count) as step:
        try:
            after = encoder.features(tokens, advance=step.advance)
        except NotFinite as error:
            raise error.at("after training") from error
    return Outcome(history, before.cpu(), after.cpu(), learner.judged, learner.words_kept())
