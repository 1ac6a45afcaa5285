"""Train on a Ray cluster, with Ray Train.

The driver, where the user typed the command, reads, clusters and writes. The workers run `train_encoder` together. If
one of them dies, Ray starts all of them again, and they continue from the last checkpoint.
"""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from subtaxa.encoders.base import Encoder
from subtaxa.engines.ray_start import connected
from subtaxa.errors import SubtaxaError
from subtaxa.runtime.processes import TIMEOUT
from subtaxa.runtime.progress import LineProgress, Progress
from subtaxa.training import checkpoint
from subtaxa.training.fit_encoder import TrainingJob, TrainingResult, encoder_for, train_encoder

MAX_FAILURES = 3  # The number of times that the workers are started again.


@dataclass(frozen=True)
class RayFit:
    """An engine that trains on the workers of a Ray cluster. All of them must see the checkpoint's folder."""

    workers: int = 2
    gpus_per_worker: int = 0
    address: str | None = None

    def __call__(self, encoder: Encoder, job: TrainingJob, progress: Progress) -> TrainingResult:
        import ray

        name = f"Training on {self.workers} workers"
        with connected(self.address, self.workers), _own_signals(), _folder(job) as folder, progress.step(name):
            found = self._run(ray.put(_portable(job)), folder, quiet=not isinstance(progress, LineProgress))
        if "error" in found:
            raise SubtaxaError(found["error"])
        # Ray's arrays are read-only, so they are copied.
        weights = {name: torch.tensor(values) for name, values in found["weights"].items()}
        checkpoint.unpack_modules({"tower": encoder.tower}, weights)
        encoder.eval()
        before, after = (torch.tensor(found[name]) for name in ("before", "after"))
        return TrainingResult(found["history"], before, after, found["lexical_weight"])

    def _run(self, job: Any, folder: Path, quiet: bool) -> dict[str, Any]:
        """Train, and return the result of the first worker."""
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        gpus = self.gpus_per_worker
        each = {"CPU": 1, "GPU": gpus} if gpus else {"CPU": 1}
        trainer = TorchTrainer(
            _work,
            train_loop_config={"job": job, "quiet": quiet},
            scaling_config=ScalingConfig(num_workers=self.workers, use_gpu=gpus > 0, resources_per_worker=each),
            torch_config=TorchConfig("cpu:gloo,cuda:nccl" if gpus else "gloo", timeout_s=int(TIMEOUT.total_seconds())),
            run_config=RunConfig(
                name="ray", storage_path=str(folder.resolve()), failure_config=FailureConfig(max_failures=MAX_FAILURES)
            ),
        )
        return trainer.fit().return_value


def _work(given: dict[str, Any]) -> dict[str, Any]:
    """In each worker: do a share of the training. User errors are returned, because Ray retries after exceptions."""
    import ray

    job: TrainingJob = ray.get(given["job"])
    first = ray.train.get_context().get_world_rank() == 0
    encoder = encoder_for(job.settings)
    try:
        result = train_encoder(encoder, job, Progress() if given["quiet"] or not first else LineProgress())
    except SubtaxaError as error:
        return {"error": str(error)}
    if not first:
        return {}
    weights = {name: values.cpu().numpy() for name, values in checkpoint.pack_modules({"tower": encoder.tower}).items()}
    features = {"before": result.before.numpy(), "after": result.after.numpy()}  # Ray does not return tensors.
    learned = {"history": result.history, "lexical_weight": result.lexical_weight}
    return {"weights": weights, **features, **learned}


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the Ctrl-C handler: Ray Train leaves its own behind, which would start Ray again."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _folder(job: TrainingJob) -> Iterator[Path]:
    """A temporary folder for Ray's own files: beside the checkpoint, which all machines of a cluster can reach."""
    place = None if job.folder is None else job.folder.parent
    with tempfile.TemporaryDirectory(prefix=".ray-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _portable(job: TrainingJob) -> TrainingJob:
    """The job with absolute paths, which are valid in any working directory, without `look`."""
    encoder = Path(job.settings.encoder)
    settings = replace(job.settings, encoder=str(encoder.resolve())) if encoder.is_dir() else job.settings
    return replace(job, settings=settings, folder=job.folder and job.folder.resolve(), look=None)
