"""Compare an epoch of training with the bare transformer on the same inputs.

Every call of an encoder is recorded while the trainer works. Right after each step, the same inputs go through a copy
of the bare transformer, with a backward pass where the step had one. Both are thus disturbed alike by other processes.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import torch
from measurement import Measurement
from torch import Tensor, nn

from subtaxa.bench.datasets import Dataset
from subtaxa.methods import method_class
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

# Inputs, mask, and whether there is a backward pass.
Call = tuple[Tensor, Tensor, bool]


class Recorder:
    """The encoder calls since the last replay, and the seconds spent by us and by the bare transformer."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.spent = {"ours": 0.0, "bare": 0.0}
        self.tokens = self.padding = 0

    def watch(self, tower: nn.Module) -> None:
        tower.register_forward_pre_hook(self._record)

    def _record(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        inputs, mask = args[:2]
        self.calls.append((inputs.detach(), mask, torch.is_grad_enabled() and module.training))

    def replay(self, bare: nn.Module, ours: float) -> None:
        start = time.perf_counter()
        for inputs, mask, back in self.calls:
            with torch.set_grad_enabled(back):
                out = bare(input_ids=inputs, attention_mask=mask.long()).last_hidden_state  # (B, L, D)
            if back:
                out.sum().backward()
                bare.zero_grad()
        self.spent["bare"] += time.perf_counter() - start
        self.spent["ours"] += ours
        self.tokens += sum(mask.numel() for _, mask, _ in self.calls)
        self.padding += sum(int((~mask.bool()).sum()) for _, mask, _ in self.calls)
        self.calls.clear()


class Compared(Trainer):
    """A trainer that runs the bare transformer after each of its steps."""

    recorder: Recorder
    bare: nn.Module

    def _step(self, index: Tensor) -> float:
        start = time.perf_counter()
        loss = super()._step(index)
        self.recorder.replay(self.bare.train(), time.perf_counter() - start)
        return loss


def measure(data: Dataset, method: str, epochs: int = 2) -> list[Measurement]:
    """Two epochs by default, so that the second retrieval works on trained features. All layers are trained."""
    labels = torch.from_numpy(data.train.coarse_codes)
    own = {**method_class(method).defaults, "trained_layers": "all", "epochs": epochs}
    settings = Settings.from_preset(method=method, **own).for_data(data.train.texts)
    encoder = encoder_for(settings)
    trainer, recorder, learner = Compared(settings, 0, Progress()), Recorder(), method_class(method)(settings)
    trainer.recorder, trainer.bare = recorder, copy.deepcopy(encoder.tower.transformer)
    _record_from_start(learner, recorder, trainer.bare)
    training = TrainingData(encoder.tokenise(data.train.texts), labels, data.n_coarse, data.n_fine)
    trainer.run("", learner, encoder, training, epochs)
    how = f"HWU64, {epochs} epochs of {len(labels):,} texts, all layers, bare {recorder.spent['bare']:.0f} s"
    return [
        Measurement(
            f"an epoch of {method}, relative to the bare encoder",
            recorder.spent["ours"] / recorder.spent["bare"],
            1.15,
            False,
            how,
        ),
        Measurement(f"padding of {method}", recorder.padding / recorder.tokens, 0.1, False, "share of all tokens", ""),
    ]


def _record_from_start(method: Method, recorder: Recorder, bare: nn.Module) -> None:
    """Record the method's encoders from its start. Its retrieval counts as part of the epoch."""
    start: Callable[..., None] = method.start
    begin: Callable[[int], dict[str, float]] = method.begin_epoch

    def started(*args: Any) -> None:
        start(*args)
        for name, module in method.modules().items():
            if name in ("tower", "momentum"):
                recorder.watch(module)

    def begun(epoch: int) -> dict[str, float]:
        since = time.perf_counter()
        log = begin(epoch)
        recorder.replay(bare.eval(), time.perf_counter() - since)
        return log

    method.start, method.begin_epoch = started, begun  # type: ignore[method-assign]
