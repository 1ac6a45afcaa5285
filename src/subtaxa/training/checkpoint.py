"""A training state in one safetensors file, replaced atomically: a reader sees the old state or the new, never half.

The file knows its own digest, and the state before it is kept, should the newest one turn out to be damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.atomic_files import write_whole

State = tuple[dict[str, Tensor], dict[str, Any]]


def save_state(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Tensors plus JSON facts (epoch, step, history) in one file; what was there becomes the state before."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    told = json.dumps(facts)
    before(path).unlink(missing_ok=True)  # so that there are never three of them on the disk
    new = path.with_name(f"new-{path.name}")
    write_whole(new, save(whole, metadata={"facts": told, "digest": _digest(whole, told)}))
    if path.exists():
        os.replace(path, before(path))
    os.replace(new, path)


def before(path: Path) -> Path:
    """Where the state before the one in `path` is."""
    return path.with_name(f"previous-{path.name}")


def load_state(path: Path) -> State:
    """What `save_state` wrote, or an error that says the file is damaged."""
    try:
        content = path.read_bytes()
        about = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        tensors = load(content)
        if _digest(tensors, about["facts"]) != about["digest"]:
            raise ValueError("the digest is another")
        return tensors, json.loads(about["facts"])
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SubtaxaError(
            f"the checkpoint {str(path)!r} is damaged: delete the folder {str(path.parent)!r} and start again"
        ) from error


def load_newest(path: Path, say: Callable[[str], None]) -> State | None:
    """The newest state that is whole, or None if none was ever saved; `say` is told of a damaged one passed over."""
    if before(path).exists():
        try:
            if path.exists():
                return load_state(path)
        except SubtaxaError:
            say(f"the checkpoint {str(path)!r} is damaged: going on from the one before it")
        return load_state(before(path))
    return load_state(path) if path.exists() else None


def _digest(tensors: dict[str, Tensor], facts: str) -> str:
    """SHA-256 of all that a file holds: safetensors itself would not notice a changed number."""
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
