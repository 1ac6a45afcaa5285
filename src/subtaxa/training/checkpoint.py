"""Checkpoints: a training state in one safetensors file, replaced atomically.

The file contains its own digest. The previous state is kept in case the newest file is damaged.
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
from subtaxa.training.weight_average import distinct_weights

State = tuple[dict[str, Tensor], dict[str, Any]]

# What AdamW keeps of each parameter: numbers of the parameter's shape, and the number of steps.
_OF_ADAMW = ("exp_avg", "exp_avg_sq", "step")


def save_state(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write tensors and JSON facts (epoch, step, history) to one file; the old file becomes the previous state."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(facts)
    previous(path).unlink(missing_ok=True)  # The disk never holds three states.
    new = path.with_name(f"new-{path.name}")
    write_whole(new, save(whole, metadata={"facts": text, "digest": _digest(whole, text)}))
    if path.exists():
        os.replace(path, previous(path))
    os.replace(new, path)


def previous(path: Path) -> Path:
    """The path of the previous state."""
    return path.with_name(f"previous-{path.name}")


def load_state(path: Path) -> State:
    """What `save_state` wrote, or an error that says the file is damaged."""
    try:
        content = path.read_bytes()
        about = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        tensors = load(content)
        if _digest(tensors, about["facts"]) != about["digest"]:
            raise ValueError("the digest does not match")
        return tensors, json.loads(about["facts"])
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SubtaxaError(
            f"the checkpoint {str(path)!r} is damaged: delete the folder {str(path.parent)!r} and start again"
        ) from error


def load_newest(path: Path, say: Callable[[str], None]) -> State | None:
    """The newest undamaged state, or None if there is none; `say` reports a damaged file that was skipped."""
    if previous(path).exists():
        try:
            if path.exists():
                return load_state(path)
        except SubtaxaError:
            say(f"the checkpoint {str(path)!r} is damaged: continuing from the previous one")
        return load_state(previous(path))
    return load_state(path) if path.exists() else None


def _digest(tensors: dict[str, Tensor], facts: str) -> str:
    """SHA-256 of the whole content: safetensors itself does not detect a changed number."""
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def pack_modules(modules: dict[str, nn.Module]) -> dict[str, Tensor]:
    """All weights of the modules that training can change (and of momentum copies), by name."""
    return {
        f"weights/{name}/{key}": value
        for name, module in modules.items()
        for key, value in distinct_weights(module).items()
    }


def unpack_modules(modules: dict[str, nn.Module], tensors: dict[str, Tensor]) -> None:
    for name, module in modules.items():
        prefix = f"weights/{name}/"
        saved = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        # A checkpoint must have the weights of this very module; second names of the same weights are not saved.
        same = saved.keys() == distinct_weights(module).keys()
        module.load_state_dict(saved, strict=not same)


def checked_modules(modules: dict[str, nn.Module], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The result of `pack_modules` for modules of these shapes, or a ValueError."""
    if {k: t.shape for k, t in tensors.items()} != {k: t.shape for k, t in pack_modules(modules).items()}:
        raise ValueError("the weights have other names or shapes")
    return tensors


def pack_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's moments and step counts, by parameter number."""
    return {
        f"optimizer/{number}/{key}": value
        for number, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restore the moments. Those of another shape raise a ValueError: AdamW's compiled step would read beyond them."""
    content = optimizer.state_dict()
    content["state"] = {}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for name, value in tensors.items():
        if name.startswith("optimizer/"):
            _, number, key = name.split("/")
            shape = torch.Size() if key == "step" else parameters[int(number)].shape
            if value.shape != shape or not torch.isfinite(value).all():
                raise ValueError(f"{name} has the shape {tuple(value.shape)} or a number that is not finite")
            content["state"].setdefault(int(number), {})[key] = value
    if any(sorted(state) != sorted(_OF_ADAMW) for state in content["state"].values()):
        raise ValueError("some moments are missing")
    optimizer.load_state_dict(content)
