"""A measurement of the speed page: a value, its target and how it was measured, with helpers for time and memory."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from subtaxa.bench.peak_memory import PeakMemory


@dataclass(frozen=True)
class Measurement:
    """One row of the page. With `at_least` the target is a lower bound, otherwise an upper bound.

    On a machine that `lacks` what the target needs, the target does not apply.
    """

    what: str
    value: float
    target: float
    at_least: bool
    how: str
    unit: str = "×"
    lacks: str = ""

    @property
    def met(self) -> bool:
        if self.lacks:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """The fastest of several runs. The slower ones were disturbed by other processes."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def of_children() -> float:
    """The processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def times_faster(slow: Callable[[], Any], fast: Callable[[], Any], rounds: int = 3, times: int = 20) -> float:
    """How many times faster the second one is. Both take turns, so that other processes disturb them alike."""
    spent = [(seconds(slow, 1), seconds(fast, times)) for _ in range(rounds)]
    return min(a for a, _ in spent) / min(b for _, b in spent)


def megabytes(work: Callable[[], Any]) -> float:
    """The peak memory of some work in a process of its own, beyond what the process held before."""
    import torch  # Not at the top: some programs set variables before torch is loaded.

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe()

    def run() -> None:
        torch.set_num_threads(1)  # The parent's other threads do not exist here; waiting for them would never end.
        gc.collect()
        peak = PeakMemory()
        before = peak.megabytes() or 0
        work()
        sender.send((peak.megabytes() or 0) - before)

    process = context.Process(target=run)
    process.start()
    found = receiver.recv()
    process.join()
    return float(found)
