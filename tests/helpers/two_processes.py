"""What `test_processes.py` runs in two processes: it trains and saves all tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from helpers.methods import prepared
from subtaxa.methods import method_class
from subtaxa.runtime import processes
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer, Watcher

METHODS = ("soft-dna", "dna", "ancor+ce", "deepcluster", "bert+ce+mlm")
BATCH = 50  # It does not divide the number of texts, and half of the last batch is odd.


class Notes(Watcher):
    """Keeps the neighbours of the first epoch and those that each filter kept."""

    def __init__(self) -> None:
        self.first: dict[str, Tensor] = {}

    def mined(self, indices: Tensor, stages: Mapping[str, Tensor]) -> dict[str, float]:
        self.first = self.first or {"indices": indices.clone(), **stages}
        return {}


def trained(encoder: str, name: str) -> dict[str, Tensor]:
    """All tensors of a method after two epochs, and the first neighbours."""
    settings, model, data, _ = prepared(encoder, method=name, epochs=2, batch_size=BATCH, trained_layers="all")
    method, notes = method_class(name)(settings), Notes()
    history = Trainer(settings, 0, Progress()).run("", method, model, data, 2, notes)
    weights = {f"{part}/{key}": value for part, m in method.modules().items() for key, value in m.state_dict().items()}
    losses = torch.tensor([sum(v for k, v in row.items() if k in ("alignment", "uniformity")) for row in history])
    named = {"loss": losses, **{f"first/{key}": value for key, value in notes.first.items()}, **method.state()}
    return {f"{name}/{key}": value.detach().clone().contiguous() for key, value in (weights | named).items()}


def save_trained(encoder: str, folder: str) -> None:
    """Train every method together with the other process, and save the tensors of this one."""
    torch.set_num_threads(1)
    with processes.group():
        found = {key: value for name in METHODS for key, value in trained(encoder, name).items()}
        save_file(found, Path(folder) / f"{processes.rank()}.safetensors")
