"""Train in the processes that `torchrun` or `accelerate launch` started: the first one leads, the others help."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from subtaxa.encoders.base import Encoder
from subtaxa.runtime import processes
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import Engine, TrainingJob, TrainingResult, encoder_for, train_encoder


@contextmanager
def lead() -> Iterator[Engine]:
    """In the first process: an engine that trains with the others. If it is not used, they are released."""
    used = False

    def train_together(encoder: Encoder, job: TrainingJob, progress: Progress) -> TrainingResult:
        nonlocal used
        used = True
        with processes.group():
            processes.broadcast(lambda: replace(job, look=None))
            return train_encoder(encoder, job, progress)

    try:
        yield train_together
    except KeyboardInterrupt:  # The launcher stops the others as well.
        used = True
        raise
    finally:
        if not used:
            with processes.group():
                processes.broadcast(lambda: None)


def take_part() -> None:
    """In the other processes: wait for the training, do a share of it, and return."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # There is nothing to save while waiting.
    with processes.group():
        job: TrainingJob | None = processes.broadcast(lambda: None)
        if job is not None:
            train_encoder(encoder_for(job.settings), job, Progress())
