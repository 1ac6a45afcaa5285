"""The only training loop, on Hugging Face Accelerate. It knows no method by name.

Every step draws its randomness from its own seed, so a run that was stopped and resumed takes the same steps as one
that was not, and nothing random has to be saved. Processes that work together (parallel.py) share every batch.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.errors import SubtaxaError
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime import processes
from subtaxa.runtime.finite import NotFinite
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.signals import Interrupts, Stopped
from subtaxa.settings import Settings
from subtaxa.training import checkpoint

History = list[dict[str, float]]


@dataclass
class Place:
    """How far a training has come; with the tensors, all that a checkpoint needs."""

    epoch: int = 0
    step: int = 0
    log: dict[str, float] = field(default_factory=dict)  # of the current epoch's retrieval
    sums: dict[str, float] = field(default_factory=dict)  # of the current epoch's loss parts
    seconds: float = 0.0  # already spent on the current epoch
    history: History = field(default_factory=list)
    best: float | None = None
    stale: int = 0  # epochs since the best one


class Watcher:
    """Looks on and returns numbers for the log; a method cannot reach it. Benchmarks watch with the fine labels."""

    def mined(self, indices: Tensor, stages: Mapping[str, Tensor]) -> dict[str, float]:
        """Neighbours (N, k) have been retrieved; one mask (N, k) per filter stage."""
        return {}

    def epoch(self) -> dict[str, float]:
        """An epoch is over."""
        return {}


class Trainer:
    """Trains an encoder with a method. With a `file`, the state is saved there after each epoch and when stopped."""

    def __init__(self, settings: Settings, seed: int, progress: Progress, file: Path | None = None) -> None:
        self.settings, self.seed, self.progress, self.file = settings, seed, progress, file
        self.accelerator = accelerator()

    def run(
        self,
        name: str,
        method: Method,
        encoder: Encoder,
        data: TrainingData,
        epochs: int,
        watcher: Watcher | None = None,
    ) -> History:
        """Run or resume `epochs` epochs and return one row of numbers per epoch."""
        self.watcher = watcher or Watcher()
        torch.manual_seed(self.seed)
        encoder.to(self.accelerator.device)
        self.method, self.data, self.epochs = method, data.to(self.accelerator.device), epochs
        method.start(encoder, self.data)
        self.modules = method.modules()
        for module in self.modules.values():
            module.to(self.accelerator.device)
        self.optimizer = self.accelerator.prepare(_adamw(self.modules, self.settings))
        method.tower = self.accelerator.prepare(method.tower)
        heads = {name: module for name, module in self.modules.items() if name != "tower"}
        self.apart = _trained(heads)  # the tower's gradients are averaged on the way back, theirs after it
        self.place = Place()
        self.best: dict[str, Tensor] = {}
        self._resume()
        self.steps = len(self._batches(0))  # in an epoch
        with Interrupts() as interrupts, self.progress.step(name, epochs * (self.steps + 1)) as step:
            step.skip(self.place.epoch * (self.steps + 1) + self.place.step)
            while self.place.epoch < epochs and self.place.stale < self.settings.pretrain_patience:
                self._epoch(interrupts, step)
        if self.best:
            checkpoint.unpack_modules(self.modules, self.best)
        encoder.eval()
        return self.place.history

    def _epoch(self, interrupts: Interrupts, step: Step) -> None:
        place = self.place
        begun, spent = time.perf_counter(), place.seconds
        which = f"epoch {place.epoch + 1} of {self.epochs}"
        if place.step == 0:
            step.note(f"{which}: comparing all texts")
            torch.manual_seed(_mixed(self.seed, place.epoch, 0))  # the same in every process
            try:
                place.log = self.method.begin_epoch(place.epoch)
            except NotFinite as error:
                raise error.at(f"at the beginning of epoch {place.epoch + 1}") from error
            if self.method.mined is not None:
                place.log |= self.watcher.mined(*self.method.mined)
                self.method.mined = None
            step.advance()
        batches = self._batches(place.epoch)
        with interrupts.shielded():
            for index in batches[place.step :]:
                try:
                    loss = self._step(index)
                except NotFinite:
                    self._save()
                    raise
                place.step += 1
                place.seconds = spent + time.perf_counter() - begun
                if processes.any_process(interrupts.pending is not None):
                    self._save()
                    raise Stopped(interrupts.pending or signal.SIGTERM)
                step.note(f"{which}: loss {loss:.3f}")
                step.advance()
            self._close_epoch(spent + time.perf_counter() - begun)
            if processes.any_process(interrupts.pending is not None):
                raise Stopped(interrupts.pending or signal.SIGTERM)

    def _step(self, index: Tensor) -> float:
        """One optimiser step on one batch; each process takes its share of the texts."""
        place, method = self.place, self.method
        torch.manual_seed(_mixed(self.seed, place.epoch, place.step + 1) + processes.rank())
        done, total = place.epoch * self.steps + place.step, self.epochs * self.steps * self.settings.schedule_length
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * rate(done, total, self.settings.schedule, self.settings.warmup)
        batch = method.encoder.batch(self.data.tokens, self._share(index))
        method.encoder.train()
        method.tower.train()
        method.gather = partial(_gather, self.accelerator, len(index))
        parts = method.loss(batch)
        loss = torch.stack(list(parts.values())).sum()
        values = processes.mean(torch.stack([part.detach() for part in parts.values()]))  # of all processes
        self._check("loss", values.sum(), batch)
        self.accelerator.backward(loss)
        for parameter in self.apart:
            if parameter.grad is not None:
                parameter.grad = processes.mean(parameter.grad)
        self._check(
            "gradient", self.accelerator.clip_grad_norm_(_trained(self.modules), self.settings.max_grad_norm), batch
        )
        self.optimizer.step()
        self.optimizer.zero_grad()
        method.after_step(batch)
        for name, value in zip(parts, values.tolist(), strict=True):
            place.sums[name] = place.sums.get(name, 0.0) + value
        return float(values.sum())

    @torch.no_grad()
    def _check(self, name: str, number: Tensor, batch: Batch) -> None:
        """Stop before a step that would spoil the weights: name the texts without features, if any, or else all."""
        if torch.isfinite(number):
            return
        encoder = self.method.encoder
        encoder.eval()
        self.method.tower.eval()
        wrong = ~torch.isfinite(self.method.tower(*encoder.inputs(batch))).all(1)  # (B,)
        texts = batch.index[wrong] if wrong.any() else batch.index
        where = f"in epoch {self.place.epoch + 1}, step {self.place.step + 1}"
        raise NotFinite(f"the {name} became {float(number)}", texts.tolist(), where)

    def _close_epoch(self, seconds: float) -> None:
        """Log the epoch, keep it if it is the best, move on and save."""
        place = self.place
        means = {name: total / max(1, place.step) for name, total in place.sums.items()}
        row = {"epoch": place.epoch + 1, **means, **place.log, "seconds": seconds}
        own_score = self.method.score()
        score = processes.broadcast(lambda: own_score)
        if score is not None:
            row["score"] = score
            place.stale += 1
            if place.best is None or score > place.best:
                place.best, place.stale = score, 0
                self.best = {name: tensor.clone() for name, tensor in checkpoint.pack_modules(self.modules).items()}
        place.history.append(row | self.watcher.epoch())
        self.place = Place(epoch=place.epoch + 1, history=place.history, best=place.best, stale=place.stale)
        self._save()

    def _batches(self, epoch: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(_mixed(self.seed, epoch, 0))
        subset = self.method.training_subset()
        by_length = not self.method.random_batches
        return self.data.tokens.shuffled_batches(self.settings.batch_size, generator, subset, by_length=by_length)

    def _share(self, index: Tensor) -> Tensor:
        """This process's part of a batch; all parts have the same size, the first texts are repeated if need be."""
        number = processes.world_size()
        whole = index[torch.arange(-(-len(index) // number) * number) % len(index)]
        return whole[processes.rank() :: number]

    def _save(self) -> None:
        """Save the state, unless its weights are no numbers: then the one saved before is the last good one."""
        if self.file is None or processes.rank() > 0:
            return
        if not all(torch.isfinite(weights).all() for weights in checkpoint.pack_modules(self.modules).values()):
            return
        tensors = checkpoint.pack_modules(self.modules) | checkpoint.pack_optimizer(self.optimizer)
        tensors |= {f"state/{name}": tensor for name, tensor in self.method.state().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        checkpoint.save_state(self.file, tensors, asdict(self.place))

    def _resume(self) -> None:
        file = self.file
        found = None if file is None else processes.broadcast(lambda: checkpoint.load_newest(file, self.progress.say))
        if found is None:
            return
        tensors, facts = found
        try:
            checkpoint.unpack_modules(self.modules, tensors)
            checkpoint.unpack_optimizer(self.optimizer, tensors)
            self.method.load_state({k.removeprefix("state/"): v for k, v in tensors.items() if k.startswith("state/")})
            self.best = {k.removeprefix("best/"): v for k, v in tensors.items() if k.startswith("best/")}
            self.place = Place(**facts)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            raise SubtaxaError(
                f"the checkpoint {str(self.file)!r} is of another encoder or version: delete its folder and start again"
            ) from error


def _gather(accelerator: Accelerator, count: int, rows: Tensor) -> Tensor:
    """The rows (b, ...) of all processes in the order of their batch of `count` texts, without the repeated."""
    together = accelerator.gather(rows).unflatten(0, (processes.world_size(), len(rows)))  # (P, b, ...)
    return together.transpose(0, 1).flatten(0, 1)[:count]


def accelerator() -> Accelerator:
    """Accelerate takes several processes without a GPU for what they are only if it is told so."""
    return Accelerator(cpu=processes.world_size() > 1 and not torch.cuda.is_available())


def rate(step: int, total: float, schedule: str, warmup: float) -> float:
    """The learning rate at a step as a share of its peak."""
    rising = warmup * total
    if step < rising:
        return (step + 1) / (rising + 1)
    if schedule == "constant":
        return 1.0
    left = (total - step) / max(1.0, total - rising)  # 1 → 0
    return left if schedule == "linear" else 0.5 * (1.0 - math.cos(math.pi * left))


def _adamw(modules: dict[str, nn.Module], settings: Settings) -> torch.optim.Optimizer:
    """AdamW with the paper's two groups: no weight decay on biases and norms (the one-dimensional weights)."""
    parameters = _trained(modules)
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    # Fused: otherwise a fifth of a step on a CPU is spent in here.
    return torch.optim.AdamW(
        [g for g in groups if g["params"]] or [{"params": [torch.zeros(1)]}], settings.learning_rate, fused=True
    )


def _trained(modules: dict[str, nn.Module]) -> list[nn.Parameter]:
    """Every weight that is trained, each once, in a fixed order."""
    return list({id(p): p for m in modules.values() for p in m.parameters() if p.requires_grad}.values())


def _mixed(seed: int, epoch: int, step: int) -> int:
    """One number for each (seed, epoch, step), far from its neighbours'."""
    mixed = (seed * 0x9E3779B97F4A7C15 + epoch * 0xC2B2AE3D27D4EB4F + step * 0x165667B19E3779F9) & (2**63 - 1)
    return mixed >> 8
