"""What the user types to say where a command runs, and the engine that comes of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.engines import ENGINES, check_ray
from subtaxa.errors import SettingError
from subtaxa.runtime.launcher import launched
from subtaxa.runtime.progress import Progress
from subtaxa.settings import whole_number

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder
    from subtaxa.training.fit_encoder import Engine, Job, Outcome


def add_engine(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("on a cluster (pip install 'subtaxa[cluster]'; docs/scale.md)")
    group.add_argument("--engine", default="local", choices=ENGINES, help="where it runs (default: local, here)")
    group.add_argument("--workers", metavar="N", help="processes of the engine (default: 2)")
    group.add_argument("--gpus-per-worker", metavar="N", help="GPUs that each of them has (default: 0)")
    group.add_argument("--address", metavar="HOST", help="of a running Ray cluster; otherwise Ray is started here")


def check_launched(options: argparse.Namespace) -> None:
    """Refuse what several processes with the same command cannot share."""
    if launched() and options.command not in ("discover", "demo"):
        raise SettingError(f"torchrun and accelerate launch are for discover: type subtaxa {options.command} without")
    if launched() and options.engine != "local":
        raise SettingError("this is several processes already: leave torchrun out, or --engine ray")


def check_local(options: argparse.Namespace) -> None:
    """Refuse options that only a cluster has a use for."""
    for name in ("workers", "gpus_per_worker", "address"):
        if options.engine == "local" and getattr(options, name) is not None:
            raise SettingError(f"--{name.replace('_', '-')} says how Ray shall work: add --engine ray")


def worker_numbers(options: argparse.Namespace) -> tuple[int, int]:
    """How many workers, and how many GPUs each of them has."""
    workers = whole_number("2" if options.workers is None else options.workers, "--workers", 1)
    gpus = "0" if options.gpus_per_worker is None else options.gpus_per_worker
    return workers, whole_number(gpus, "--gpus-per-worker")


@contextmanager
def engine_for(options: argparse.Namespace) -> Iterator[Engine]:
    """What trains."""
    check_local(options)
    if options.engine == "ray":
        check_ray()
        from subtaxa.engines.ray_fit import RayFit

        yield RayFit(*worker_numbers(options), options.address)
    elif launched():
        from subtaxa.engines.torchrun import leading

        with leading() as engine:
            yield engine
    else:
        yield _here


def _here(encoder: Encoder, job: Job, progress: Progress) -> Outcome:
    """In this process; what trains is imported when it is needed: a file that cannot be read is refused before."""
    from subtaxa.training.fit_encoder import learn

    return learn(encoder, job, progress)


def assign(options: argparse.Namespace, progress: Progress) -> Iterator[str]:
    """File new texts here or on a cluster; yields what there is to say."""
    check_local(options)
    given: dict[str, Any] = {
        "text": options.text,
        "label": options.label,
        "overwrite": options.overwrite,
        "progress": progress,
    }
    if options.engine == "ray":
        if options.backend != "torch":
            raise SettingError(f"--backend {options.backend} is for one machine: leave it or --engine ray out")
        check_ray()
        from subtaxa.engines.ray_assign import RayAssign

        engine, out = RayAssign(*worker_numbers(options), options.address), Path(options.out)
        count, there = engine.assign_files(Path(options.folder), options.file, out, **given)
        yield f"{count:,} texts filed; see {options.out}" + (f" ({there:,} partitions were there)" if there else "")
        return
    from subtaxa.assign import assign_file

    count = assign_file(Path(options.folder), Path(options.file), options.out, backend=options.backend, **given)
    if options.out != "-":
        yield f"{count:,} texts filed; see {options.out}"
