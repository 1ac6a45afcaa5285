"""A copy of a model folder that holds only what the model libraries may see.

The libraries look for many files and keys, and follow names of other models, files and code in them. They are therefore
never given the folder itself: its JSON files are read here, reduced to the keys and values in allowed_values.py, and
written to a temporary folder. Weights and vocabularies, which hold only data, are linked there.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subtaxa.encoders import allowed_values
from subtaxa.encoders.allowed_values import Rules
from subtaxa.errors import InputError
from subtaxa.runtime import json_files

# Files that hold only data: the vocabulary of a tokenizer.
VOCABULARIES: tuple[str, ...] = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
)
VOCABULARIES += ("tokenizer.model",)
# The weights, whole or spread over several files that an index lists.
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
# The folder of a module inside the model folder.
_MODULE_FOLDER = re.compile(r"(?!\.)[A-Za-z0-9_.-]{0,60}")

# The shapes of modules.json and of the index of the weights (runtime/json_files.py).
MODULES_SHAPE = [{"type": str, "path": str, "name": str}]
INDEX_SHAPE = {"weight_map": {str: str}}

# What sentence-transformers calls the file with the length limit of a transformer.
_SENTENCE_FILES = [f"sentence_{name}_config.json" for name in ("bert", "roberta", "distilbert", "camembert", "albert")]
_SENTENCE_FILES += ["sentence_xlm-roberta_config.json", "sentence_xlnet_config.json"]
_TRANSFORMER_FILES: dict[str, Rules] = {
    **dict.fromkeys(_SENTENCE_FILES, allowed_values.SENTENCE_TRANSFORMER),
    "tokenizer_config.json": allowed_values.TOKENIZER,
    "special_tokens_map.json": allowed_values.SPECIAL_TOKENS_MAP,
}


@contextmanager
def library_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder with everything that a library needs to load the model, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="subtaxa-model-") as name:
        copy = _Copy(folder, Path(name))
        modules = copy.modules()
        copy.write("", "config_sentence_transformers.json", allowed_values.LIBRARY)
        for kind, path in modules:
            (copy.target / path).mkdir(exist_ok=True)
            if kind == "Transformer":
                copy.transformer(path)
            elif kind == "StaticEmbedding":
                copy.link(path, "tokenizer.json")
            else:
                copy.write(path, "config.json", allowed_values.MODULES[kind])
            copy.weights(path)
        yield copy.target


class _Copy:
    """The files of a model folder `source`, copied to `target` one by one."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source, self.target = source, target

    def modules(self) -> list[tuple[str, str]]:
        """The kind and the folder of each module. Without modules.json, the folder holds a transformer alone."""
        path = self.source / "modules.json"
        if not path.exists():
            return [("Transformer", "")]
        listed = _shaped(path, MODULES_SHAPE)
        for module in listed:
            module["path"] = "" if module["path"] == "." else module["path"]  # model2vec writes a dot.
        modules = [(check_module(path, module["type"]), module["path"]) for module in listed]
        for _, place in modules:
            check_module_folder(path, place)
        kept = [
            {"idx": i, **{name: module[name] for name in ("name", "path", "type")}} for i, module in enumerate(listed)
        ]
        (self.target / "modules.json").write_text(json.dumps(kept))
        return modules

    def transformer(self, place: str) -> None:
        """The configuration and the tokenizer of a transformer."""
        config = self.source / place / "config.json"
        kind = _object(config).get("model_type")
        if kind not in allowed_values.ARCHITECTURES:
            raise InputError(
                f"{str(config)!r} names the architecture {_short(kind)}: use one of "
                f"{', '.join(sorted(allowed_values.ARCHITECTURES))}"
            )
        self.write(place, "config.json", allowed_values.architecture(kind))
        for name, rules in _TRANSFORMER_FILES.items():
            self.write(place, name, rules)
        added = self.source / place / "added_tokens.json"
        if added.exists():
            content = _shaped(added, {str: int})
            allowed(added, content, dict.fromkeys(content, allowed_values.whole(0)))
            allowed(added, {"a token": list(content)}, {"a token": allowed_values.tokens})
            (self.target / place / added.name).write_text(json.dumps(content))
        for name in VOCABULARIES:
            self.link(place, name)

    def weights(self, place: str) -> None:
        """The weights of a module, if it has any."""
        self.link(place, WEIGHTS)
        index = self.source / place / INDEX
        if not index.exists():
            return
        listed = _shaped(index, INDEX_SHAPE)["weight_map"]
        for name in sorted(set(listed.values())):
            check_shard(index, name)
            if name != WEIGHTS:
                self.link(place, name)
        (self.target / place / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))

    def write(self, place: str, name: str, rules: Rules) -> None:
        """Write a JSON file with the allowed keys, if the source has that file."""
        path = self.source / place / name
        if path.exists():
            (self.target / place / name).write_text(json.dumps(allowed(path, _object(path), rules)))

    def link(self, place: str, name: str) -> None:
        """Link a file that holds only data, if the source has it."""
        path = self.source / place / name
        if path.is_file():
            (self.target / place / name).symlink_to(path.resolve())


def allowed(path: Path, content: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """The keys of a JSON file that have a rule. A value that breaks its rule is refused."""
    kept = {key: value for key, value in content.items() if key in rules}
    for key, value in kept.items():
        if not rules[key](value):
            raise InputError(
                f"{str(path)!r} sets {_short(key)} to {_short(value)}, which subtaxa does not load: "
                "give a text encoder that sentence-transformers saved"
            )
    return kept


def check_module(path: Path, kind: str) -> str:
    """The name of a module's class, or an error if it is not one of those that are loaded."""
    package, _, name = kind.rpartition(".")
    if not package.startswith("sentence_transformers.") or name not in allowed_values.MODULES:
        raise InputError(
            f"{str(path)!r} names the module {_short(kind)}: only {', '.join(allowed_values.MODULES)} are loaded"
        )
    return name


def check_module_folder(path: Path, place: str) -> None:
    """Refuse a name of a module's folder that is not that of a folder directly inside the model folder."""
    if place != "." and not _MODULE_FOLDER.fullmatch(place):  # model2vec writes a dot.
        raise InputError(f"{str(path)!r} points outside the model folder or to an odd name ({_short(place)}): refused")


def check_shard(path: Path, name: str) -> None:
    """Refuse a name of a file of weights that transformers would not give it."""
    if name != WEIGHTS and not _SHARD.fullmatch(name):
        raise InputError(f"{str(path)!r} points outside the model folder or to an odd name ({_short(name)}): refused")


def read_model_json(path: Path) -> Any:
    """The content of a JSON file of a model, or one sentence on why it cannot be read."""
    try:
        return json_files.read_json(path)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} is missing: give a folder that sentence-transformers saved") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not valid JSON ({error}): the model folder is damaged") from error


def _shaped(path: Path, shape: Any) -> Any:
    content = read_model_json(path)
    if found := json_files.difference(content, shape):
        raise InputError(f"{str(path)!r} is damaged ({found}): give a folder that sentence-transformers saved")
    return content


def _object(path: Path) -> dict[str, Any]:
    return dict(_shaped(path, {}))


def _short(value: Any) -> str:
    return repr(value)[:60]
