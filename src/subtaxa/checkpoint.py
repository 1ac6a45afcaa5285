"""A training state in one safetensors file, replaced atomically: a reader sees the old state or the new, never half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from subtaxa.atomic import write_whole
from subtaxa.errors import SubtaxaError


def save_state(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Tensors plus JSON facts (epoch, step, history) in one file."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    write_whole(path, save(whole, metadata={"facts": json.dumps(facts)}))


def load_state(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save_state` wrote, or an error that says the file is damaged."""
    try:
        content = path.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return load(content), json.loads(header["__metadata__"]["facts"])
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SubtaxaError(f"the checkpoint {str(path)!r} is damaged: delete it and start again") from error


def pack_modules(modules: dict[str, nn.Module]) -> dict[str, Tensor]:
    """All weights of the modules that training can change (and of momentum copies), by name."""
    return {
        f"weights/{name}/{key}": value for name, module in modules.items() for key, value in module.state_dict().items()
    }


def unpack_modules(modules: dict[str, nn.Module], tensors: dict[str, Tensor]) -> None:
    for name, module in modules.items():
        prefix = f"weights/{name}/"
        module.load_state_dict({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})


def pack_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's moments and step counts, by parameter number."""
    return {
        f"optimizer/{number}/{key}": value
        for number, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    content = optimizer.state_dict()
    content["state"] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer/"):
            _, number, key = name.split("/")
            content["state"].setdefault(int(number), {})[key] = value
    optimizer.load_state_dict(content)
