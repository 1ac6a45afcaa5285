"""The only training loop, on Hugging Face Accelerate. It knows no method by name.

Every step has its own random seed, so a resumed run takes the same steps as an uninterrupted one, and no random state
has to be saved. Processes that train together (runtime/processes.py) share every batch.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.errors import SettingError, SubtaxaError
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime import processes
from subtaxa.runtime.finite import NotFinite
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.signals import Interrupts, Stopped
from subtaxa.settings import Settings
from subtaxa.training import checkpoint
from subtaxa.training.training_state import History, TrainingState
from subtaxa.training.weight_average import average_weights, copy_weights


class Watcher:
    """Observes a training and returns numbers for the log. Only benchmarks use it, with fine labels."""

    def mined(self, indices: Tensor, stages: Mapping[str, Tensor]) -> dict[str, float]:
        """Called when neighbours (N, k) have been retrieved, with one mask (N, k) per filter stage."""
        return {}

    def epoch(self) -> dict[str, float]:
        """Called after each epoch."""
        return {}


class Trainer:
    """Trains an encoder with a method. With a `file`, the state is saved there after each epoch and when stopped.

    With `until`, a time as `time.time` gives it, training ends early when that time has come.
    """

    def __init__(
        self, settings: Settings, seed: int, progress: Progress, file: Path | None = None, until: float | None = None
    ) -> None:
        self.settings, self.seed, self.progress, self.file, self.until = settings, seed, progress, file, until
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
        if epochs and not _trained(self.modules):
            raise SettingError(
                f"the method {self.settings.method!r} has nothing to train with trained_layers 0: "
                "use the preset quick, or at least 1 layer"
            )
        self.optimizer = self.accelerator.prepare(_adamw(self.modules, self.settings))
        method.tower = self.accelerator.prepare(method.tower)
        heads = {name: module for name, module in self.modules.items() if name != "tower"}
        # Accelerate averages the tower's gradients in the backward pass; those of the heads are averaged after it.
        self.head_parameters = _trained(heads)
        self.state = TrainingState()
        self.best_weights: dict[str, Tensor] = {}
        untrained = copy_weights(encoder.tower) if self.settings.untrained_share else {}
        self._resume()
        self.steps_per_epoch = len(self._batches(0))
        with Interrupts() as interrupts, self.progress.step(name, epochs * (self.steps_per_epoch + 1)) as step:
            step.skip(self.state.epoch * (self.steps_per_epoch + 1) + self.state.step)
            while self.state.epoch < epochs and self.state.epochs_since_best < self.settings.pretrain_patience:
                self._epoch(interrupts, step)
                if self._is_late():
                    self.progress.say(f"{name} ends here: the time limit is near")
                    break
        if self.best_weights:
            checkpoint.unpack_modules(self.modules, self.best_weights)
        if untrained:
            average_weights(encoder.tower, untrained, float(self.settings.untrained_share))
        encoder.eval()
        return self.state.history

    def _epoch(self, interrupts: Interrupts, step: Step) -> None:
        state = self.state
        started, spent = time.perf_counter(), state.epoch_seconds
        name = f"epoch {state.epoch + 1} of {self.epochs}"
        if state.step == 0:
            step.note(f"{name}: comparing all texts")
            torch.manual_seed(step_seed(self.seed, state.epoch, 0))  # This seed is the same in every process.
            try:
                state.epoch_log = self.method.begin_epoch(state.epoch)
            except NotFinite as error:
                raise error.at(f"at the beginning of epoch {state.epoch + 1}") from error
            if self.method.mined is not None:
                state.epoch_log |= self.watcher.mined(*self.method.mined)
                self.method.mined = None
            step.advance()
        batches = self._batches(state.epoch)
        with interrupts.shielded():
            for index in batches[state.step :]:
                if self._is_late():
                    break
                try:
                    loss = self._step(index)
                except NotFinite:
                    self._save()
                    raise
                state.step += 1
                state.epoch_seconds = spent + time.perf_counter() - started
                if processes.any_process(interrupts.pending is not None):
                    self._save()
                    raise Stopped(interrupts.pending or signal.SIGTERM)
                step.note(f"{name}: loss {loss:.3f}")
                step.advance()
            self._close_epoch(spent + time.perf_counter() - started)
            if processes.any_process(interrupts.pending is not None):
                raise Stopped(interrupts.pending or signal.SIGTERM)

    def _is_late(self) -> bool:
        """Whether the time of this training is over, in any process."""
        return self.until is not None and processes.any_process(time.time() >= self.until)

    def _step(self, index: Tensor) -> float:
        """Take one optimiser step on one batch, of which each process encodes its share, and return the loss."""
        state, method = self.state, self.method
        torch.manual_seed(step_seed(self.seed, state.epoch, state.step + 1) + processes.rank())
        settings, steps = self.settings, self.steps_per_epoch
        done, total = state.epoch * steps + state.step, self.epochs * steps * settings.schedule_length
        factor = learning_rate_factor(done, total, settings.schedule, settings.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = float(settings.learning_rate) * factor
        batch = method.encoder.batch(self.data.tokens, self._share(index))
        method.encoder.train()
        method.tower.train()
        method.gather = partial(_gather, self.accelerator, len(index))
        parts = method.loss(batch)
        loss = torch.stack(list(parts.values())).sum()
        values = processes.mean(torch.stack([part.detach() for part in parts.values()]))
        self._check("loss", values.sum(), batch)
        self.accelerator.backward(loss)
        for parameter in self.head_parameters:
            if parameter.grad is not None:
                parameter.grad = processes.mean(parameter.grad)
        norm = self.accelerator.clip_grad_norm_(_trained(self.modules), settings.max_grad_norm)
        self._check("gradient", norm, batch)
        self.optimizer.step()
        self.optimizer.zero_grad()
        method.after_step(batch)
        for name, value in zip(parts, values.tolist(), strict=True):
            state.loss_sums[name] = state.loss_sums.get(name, 0.0) + value
        return float(values.sum())

    @torch.no_grad()
    def _check(self, name: str, number: Tensor, batch: Batch) -> None:
        """Raise an error before a step that would ruin the weights. It names the texts with bad features, or all."""
        if torch.isfinite(number):
            return
        encoder = self.method.encoder
        encoder.eval()
        self.method.tower.eval()
        bad = ~torch.isfinite(self.method.tower(*encoder.inputs(batch))).all(1)  # (B,)
        texts = batch.index[bad] if bad.any() else batch.index
        where = f"in epoch {self.state.epoch + 1}, step {self.state.step + 1}"
        raise NotFinite(f"the {name} became {float(number)}", texts.tolist(), where)

    def _close_epoch(self, seconds: float) -> None:
        """Log the epoch, keep its weights if they are the best, and save."""
        state = self.state
        means = {name: total / max(1, state.step) for name, total in state.loss_sums.items()}
        row = {"epoch": state.epoch + 1, **means, **state.epoch_log, "seconds": seconds}
        own_score = self.method.score()
        score = processes.broadcast(lambda: own_score)
        if score is not None:
            row["score"] = score
            state.epochs_since_best += 1
            if state.best_score is None or score > state.best_score:
                state.best_score, state.epochs_since_best = score, 0
                self.best_weights = {
                    name: tensor.clone() for name, tensor in checkpoint.pack_modules(self.modules).items()
                }
        state.history.append(row | self.watcher.epoch())
        self.state = TrainingState(
            epoch=state.epoch + 1,
            history=state.history,
            best_score=state.best_score,
            epochs_since_best=state.epochs_since_best,
        )
        self._save()

    def _batches(self, epoch: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(step_seed(self.seed, epoch, 0))
        subset = self.method.training_subset()
        by_length = not self.method.random_batches
        return self.data.tokens.shuffled_batches(self.settings.batch_size, generator, subset, by_length=by_length)

    def _share(self, index: Tensor) -> Tensor:
        """This process's part of a batch. All parts have the same size; if necessary, the first texts are repeated."""
        n_processes = processes.world_size()
        padded = index[torch.arange(-(-len(index) // n_processes) * n_processes) % len(index)]
        return padded[processes.rank() :: n_processes]

    def _save(self) -> None:
        """Save the state, unless a weight is NaN or infinite: the last good state is then the one on the disk."""
        if self.file is None or processes.rank() > 0:
            return
        if not all(torch.isfinite(weights).all() for weights in checkpoint.pack_modules(self.modules).values()):
            return
        tensors = checkpoint.pack_modules(self.modules) | checkpoint.pack_optimizer(self.optimizer)
        tensors |= {f"state/{name}": tensor for name, tensor in self.method.state().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best_weights.items()}
        checkpoint.save_state(self.file, tensors, asdict(self.state))

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
            best = {k.removeprefix("best/"): v for k, v in tensors.items() if k.startswith("best/")}
            self.best_weights = checkpoint.checked_modules(self.modules, best) if best else {}
            self.state = TrainingState.of_facts(facts, self.epochs)
        except (RuntimeError, LookupError, TypeError, ValueError) as error:
            raise SubtaxaError(
                f"the checkpoint {str(self.file)!r} is of another encoder or version: delete its folder and start again"
            ) from error


def _gather(accelerator: Accelerator, count: int, rows: Tensor) -> Tensor:
    """The rows (b, ...) of all processes in the order of their batch of `count` texts, without repeated texts."""
    together = accelerator.gather(rows).unflatten(0, (processes.world_size(), len(rows)))  # (P, b, ...)
    return together.transpose(0, 1).flatten(0, 1)[:count]


def accelerator() -> Accelerator:
    """An accelerator. Without a GPU, Accelerate must be told that several processes are to use the CPU."""
    return Accelerator(cpu=processes.world_size() > 1 and not torch.cuda.is_available())


def learning_rate_factor(step: int, total: float, schedule: str, warmup: float) -> float:
    """The learning rate at a step, divided by its peak."""
    warmup_steps = warmup * total
    if step < warmup_steps:
        return (step + 1) / (warmup_steps + 1)
    if schedule == "constant":
        return 1.0
    left = (total - step) / max(1.0, total - warmup_steps)  # from 1 to 0
    return left if schedule == "linear" else 0.5 * (1.0 - math.cos(math.pi * left))


def _adamw(modules: dict[str, nn.Module], settings: Settings) -> torch.optim.Optimizer:
    """AdamW with the paper's two groups: biases and norms, which are one-dimensional, have no weight decay."""
    parameters = _trained(modules)
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    # Without `fused`, the optimiser takes a fifth of the time of a step on a CPU.
    return torch.optim.AdamW(
        [g for g in groups if g["params"]] or [{"params": [torch.zeros(1)]}], float(settings.learning_rate), fused=True
    )


def _trained(modules: dict[str, nn.Module]) -> list[nn.Parameter]:
    """Every trained weight, each once, in a fixed order."""
    return list({id(p): p for m in modules.values() for p in m.parameters() if p.requires_grad}.values())


def step_seed(seed: int, epoch: int, step: int) -> int:
    """A random seed for each step of each epoch. Consecutive steps have unrelated seeds."""
    mixed = (seed * 0x9E3779B97F4A7C15 + epoch * 0xC2B2AE3D27D4EB4F + step * 0x165667B19E3779F9) & (2**63 - 1)
    return mixed >> 8
