"""What a measurement of speed gives: a ratio, the bar that it must meet, and how it was come by."""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from subtaxa.bench.peak_memory import Peak


@dataclass(frozen=True)
class Row:
    """One ratio of the page. `least` bars are met from below, the others from above."""

    what: str
    value: float
    bar: float
    least: bool
    how: str
    unit: str = "×"

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.least else self.value <= self.bar


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """The quickest of several runs: what is slower was disturbed by something else on the machine."""
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def times_faster(slow: Callable[[], Any], quick: Callable[[], Any], rounds: int = 3, times: int = 20) -> float:
    """How many times as fast the quick one is. They take turns, so that what else the machine does disturbs both."""
    spent = [(seconds(slow, 1), seconds(quick, times)) for _ in range(rounds)]
    return min(a for a, _ in spent) / min(b for _, b in spent)


def megabytes(work: Callable[[], Any]) -> float:
    """How much memory some work needs at its height, in a process of its own, beyond what there was before."""
    context = multiprocessing.get_context("fork")
    inside, outside = context.Pipe()

    def run() -> None:
        torch.set_num_threads(1)  # the parent's other threads are not here, and waiting for them would never end
        gc.collect()
        peak = Peak()
        before = peak.megabytes() or 0
        work()
        outside.send((peak.megabytes() or 0) - before)

    process = context.Process(target=run)
    process.start()
    found = inside.recv()
    process.join()
    return float(found)
