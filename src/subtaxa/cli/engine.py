"""Checks the engine options and creates the engine that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from subtaxa.cli.options import option
from subtaxa.engines import check_ray
from subtaxa.errors import SettingError
from subtaxa.runtime.launcher import started_by_launcher
from subtaxa.settings import whole_number

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder
    from subtaxa.runtime.progress import Progress
    from subtaxa.training.fit_encoder import Engine, TrainingJob, TrainingResult

TRAINING_COMMANDS = ("discover", "demo")


def check_launcher(options: argparse.Namespace) -> None:
    """Refuse torchrun and accelerate for commands that several processes cannot share."""
    if not started_by_launcher():
        return
    if options.command not in TRAINING_COMMANDS:
        raise SettingError(
            f"torchrun and accelerate launch work with discover only: run subtaxa {options.command} without them"
        )
    if options.engine != "local":
        raise SettingError("torchrun has already started several processes: leave out torchrun or --engine ray")


def check_engine_options(options: argparse.Namespace) -> None:
    """Refuse cluster options without a cluster."""
    for name in ("workers", "gpus_per_worker", "address"):
        if options.engine == "local" and getattr(options, name) is not None:
            raise SettingError(f"{option(name)} applies to Ray only: add --engine ray")


def worker_counts(options: argparse.Namespace) -> tuple[int, int]:
    """The number of workers, and the number of GPUs of each."""
    workers = whole_number("2" if options.workers is None else options.workers, "--workers", 1)
    gpus = "0" if options.gpus_per_worker is None else options.gpus_per_worker
    return workers, whole_number(gpus, "--gpus-per-worker")


@contextmanager
def training_engine(options: argparse.Namespace) -> Iterator[Engine]:
    """The engine that trains: Ray, the processes of torchrun, or this process."""
    check_engine_options(options)
    if options.engine == "ray":
        check_ray()
        from subtaxa.engines.ray_fit import RayFit

        yield RayFit(*worker_counts(options), options.address)
    elif started_by_launcher():
        from subtaxa.engines.torchrun import lead

        with lead() as engine:
            yield engine
    else:
        yield _train_here


def _train_here(encoder: Encoder, job: TrainingJob, progress: Progress) -> TrainingResult:
    """Train in this process. The import is here so that an unreadable file is reported without delay."""
    from subtaxa.training.fit_encoder import train_encoder

    return train_encoder(encoder, job, progress)
