"""An epoch of training against the bare transformer on the very same inputs, and where the rest of the time goes.

Every call of an encoder is noted while the trainer works; right after each step the same inputs go through a copy of
the bare transformer, backward too where the step went backward. So both are disturbed alike by a noisy machine.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import torch
from common import coarse_numbers
from speed.rows import Row
from torch import Tensor, nn

from subtaxa.bench.datasets import Dataset
from subtaxa.methods import method_class
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

Call = tuple[Tensor, Tensor, bool]  # inputs, mask, and whether it goes backward


class Notes:
    """What went through the encoders since the last look, and the seconds spent here and there."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.spent = {"ours": 0.0, "bare": 0.0}
        self.tokens = self.padding = 0

    def watch(self, tower: nn.Module) -> None:
        tower.register_forward_pre_hook(self._note)

    def _note(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        inputs, mask = args[:2]
        self.calls.append((inputs.detach(), mask, torch.is_grad_enabled() and module.training))

    def replay(self, bare: nn.Module, ours: float) -> None:
        begun = time.perf_counter()
        for inputs, mask, back in self.calls:
            with torch.set_grad_enabled(back):
                out = bare(input_ids=inputs, attention_mask=mask.long()).last_hidden_state  # (B, L, D)
            if back:
                out.sum().backward()
                bare.zero_grad()
        self.spent["bare"] += time.perf_counter() - begun
        self.spent["ours"] += ours
        self.tokens += sum(mask.numel() for _, mask, _ in self.calls)
        self.padding += sum(int((~mask.bool()).sum()) for _, mask, _ in self.calls)
        self.calls.clear()


class Compared(Trainer):
    """The trainer, with the bare transformer after each of its steps."""

    notes: Notes
    bare: nn.Module

    def _step(self, index: Tensor) -> float:
        begun = time.perf_counter()
        loss = super()._step(index)
        self.notes.replay(self.bare.train(), time.perf_counter() - begun)
        return loss


def measure(data: Dataset, method: str, epochs: int = 2) -> list[Row]:
    """Two epochs, so that the second retrieval works on trained features. All layers are trained."""
    labels = coarse_numbers(data.train)
    own = {**method_class(method).own, "trained_layers": "all", "epochs": epochs}
    settings = Settings.from_preset(method=method, **own).for_data(data.train.texts, data.n_fine)
    encoder = encoder_for(settings)
    trainer, notes, learner = Compared(settings, 0, Progress()), Notes(), method_class(method)(settings)
    trainer.notes, trainer.bare = notes, copy.deepcopy(encoder.tower.transformer)
    _between(learner, notes, trainer.bare)
    training = TrainingData(encoder.tokenise(data.train.texts), labels, data.n_coarse, data.n_fine)
    trainer.run("", learner, encoder, training, epochs)
    how = f"HWU64, {epochs} epochs of {len(labels):,} texts, all layers, {notes.spent['bare']:.0f} s of bare arithmetic"
    return [
        Row(
            f"an epoch of {method}, against the bare encoder",
            notes.spent["ours"] / notes.spent["bare"],
            1.15,
            False,
            how,
        ),
        Row(f"padding of {method}", notes.padding / notes.tokens, 0.1, False, "of all tokens that go through it", ""),
    ]


def _between(method: Method, notes: Notes, bare: nn.Module) -> None:
    """Watch the method's encoders from its start on; its retrieval is an epoch's work as well."""
    start: Callable[..., None] = method.start
    begin: Callable[[int], dict[str, float]] = method.begin_epoch

    def started(*args: Any) -> None:
        start(*args)
        for name, module in method.modules().items():
            if name in ("tower", "momentum"):
                notes.watch(module)

    def begun(epoch: int) -> dict[str, float]:
        since = time.perf_counter()
        log = begin(epoch)
        notes.replay(bare.eval(), time.perf_counter() - since)
        return log

    method.start, method.begin_epoch = started, begun  # type: ignore[method-assign]
