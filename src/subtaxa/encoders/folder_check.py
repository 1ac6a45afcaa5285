"""What a model folder must not have: code, pickles, and references to files outside of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subtaxa.encoders.library_folder import (
    INDEX_SHAPE,
    MODULES_SHAPE,
    check_module,
    check_module_folder,
    check_shard,
    read_model_json,
)
from subtaxa.errors import InputError
from subtaxa.runtime import json_files

# The endings of files with pickled weights.
PICKLED = (".bin", ".pt", ".pth", ".ckpt")

# The keys of a configuration that make the libraries load code.
CODE = ("auto_map", "custom_pipelines", "trust_remote_code")


def check_folder(folder: Path) -> None:
    """Refuse a model folder that needs its own code, has pickled weights, or refers to files outside the folder."""
    if not folder.is_dir():
        raise InputError(f"the model folder {str(folder)!r} does not exist")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not _may_link(path, folder):
            raise InputError(f"{str(path)!r} links to a file outside the model folder: copy the real file there")
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{str(path)!r} is not a regular file: subtaxa loads only safetensors weights and JSON")
        if path.name.endswith((".py", ".pkl", ".pickle")):
            raise InputError(f"{str(path)!r} is code or a pickle: subtaxa loads only safetensors weights and JSON")
    if (folder / "adapter_config.json").exists():
        raise InputError(f"{str(folder)!r} is an adapter of another model: merge it into that model first")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*/*.safetensors")):
        pickled = next((p for p in folder.rglob("*") if p.suffix in PICKLED), None)
        what = f"its weights are pickled ({pickled.name})" if pickled else "it has no model.safetensors"
        raise InputError(f"cannot load the model folder {str(folder)!r}: {what}; save it as safetensors first")
    for path in sorted(folder.rglob("*.json")):
        if path.name not in ("tokenizer.json", "vocab.json"):  # These are large and hold only data.
            _check_json(path)


def _check_json(path: Path) -> None:
    content = read_model_json(path)
    if key := _asks_for_code(content):
        raise InputError(f"{str(path)!r} asks for its own code ({key}): subtaxa never runs code from a model folder")
    shape = MODULES_SHAPE if path.name == "modules.json" else INDEX_SHAPE if path.name.endswith(".index.json") else {}
    if shape and (found := json_files.difference(content, shape)):
        raise InputError(f"{str(path)!r} is damaged ({found}): give a folder that sentence-transformers saved")
    for name in dict.fromkeys(content["weight_map"].values() if shape is INDEX_SHAPE else ()):
        check_shard(path, name)
    for module in content if shape is MODULES_SHAPE else ():
        check_module(path, module["type"])
        check_module_folder(path, module["path"])
        inside = path.parent / module["path"]
        if inside.is_dir() and not any(inside.glob("*.safetensors")):  # Pickled weights would be loaded.
            for pickled in (p for p in inside.iterdir() if p.suffix in PICKLED):
                raise InputError(f"the weights in {str(pickled)!r} are pickled: save them as safetensors first")


def _asks_for_code(content: Any) -> str:
    """The first key, at any depth, that would load code from the folder or the hub, or an empty string."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            for key, one in value.items():
                if (key in CODE and one) or (key.endswith("attn_implementation") and "/" in str(one)):
                    return str(key)
        left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ""


def _may_link(path: Path, folder: Path) -> bool:
    """Whether a link stays in the model folder, or in the blobs of the hub's cache if that is where the folder is."""
    target, folder = path.resolve(), folder.resolve()
    repository = folder.parent.parent
    in_cache = folder.parent.name == "snapshots" and repository.name.startswith("models--")
    return target.is_relative_to(folder) or (in_cache and target.parent == repository / "blobs")
