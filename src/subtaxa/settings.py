"""Every setting of a fit, its allowed range, and the presets. A preset is data."""

from __future__ import annotations

import difflib
import importlib.util
import types
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from subtaxa.errors import SettingError

LONG = 400  # characters: then training every layer takes too long, and
TOP_LAYERS = 2  # of them are trained, on what the others made of the texts once and for all
FEW = 6400  # texts, a hundred steps an epoch: with fewer there is time to train all weights, and views must differ more


# Settings of 0.1 under their new names. Runs and records of 0.1 hold the old ones.
RENAMED = {
    "clip": "max_grad_norm",
    "view": "augment",
    "view_rate": "augment_rate",
    "view_tokens": "augment_tokens",
    "rank_dimensions": "rank_top_m",
}
BACKENDS = {"torch": (), "onnx-int8": ("onnx", "onnxruntime")}  # what can read new texts, and the libraries it needs


def _setting(about: str, *, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A required dataclass field that knows its meaning and its range."""
    return field(metadata={"about": about, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """One value for every choice a fit makes. Build it with `Settings.from_preset`."""

    method: str = _setting("training method, see `subtaxa methods`")
    encoder: str = _setting('"packaged", a model folder or a Hugging Face name')
    pooling: str = _setting("how token features become one", choices=("model", "cls", "mean"))
    max_tokens: int | str = _setting("longest text in tokens", low=3, high=32768, choices=("model",))
    trained_layers: int | str = _setting(
        "layers trained, counted from the top; all with the word embeddings",
        low=0,
        high=1000,
        choices=("all", "layers", "auto"),
    )
    dropout: float | str = _setting(
        "share of the encoder's states that a step leaves out", low=0.0, high=0.9, choices=("model",)
    )
    pretrain_epochs: int = _setting("epochs of coarse cross-entropy before the method", low=0, high=10_000)
    pretrain_patience: int = _setting("pretraining stops after this many epochs without gain", low=1, high=10_000)
    pretrain_holdout: float = _setting("share held out to choose the best pretraining epoch", low=0.01, high=0.5)
    epochs: int | str = _setting("epochs of the method", low=0, high=10_000, choices=("auto",))
    batch_size: int = _setting("texts per step", low=1, high=65_536)
    learning_rate: float = _setting("peak learning rate of AdamW", low=1e-9, high=1.0)
    schedule: str = _setting("learning rate over the steps", choices=("constant", "linear", "cosine"))
    warmup: float = _setting("share of the steps in which the learning rate rises", low=0.0, high=1.0)
    schedule_length: float = _setting(
        "length of the schedule, in trainings: above 1 it is cut off", low=1.0, high=100.0
    )
    weight_decay: float = _setting("weight decay, not on biases and norms", low=0.0, high=1.0)
    max_grad_norm: float = _setting("largest gradient norm", low=1e-6, high=1e6)
    augment: str = _setting("how a training text is varied", choices=("replace", "drop", "shorten", "none"))
    augment_rate: float | str = _setting("share of the tokens varied", low=0.0, high=0.9, choices=("auto",))
    augment_tokens: int = _setting("longest view in tokens, if it is shortened", low=3, high=32768)
    neighbours: int | str = _setting("k, neighbours per text", low=1, high=100_000, choices=("auto",))
    momentum: float = _setting("α of the momentum encoder; 0 makes it the query encoder", low=0.0, high=0.9999)
    temperature: float = _setting("τ of the contrastive loss", low=1e-3, high=10.0)
    rank_top_m: int = _setting("m, components compared by the rank filter", low=1, high=100_000)
    rank_epochs: int = _setting("epochs in which the rank filter is used", low=0, high=10_000)
    coarse_weight: float = _setting("weight of the coarse cross-entropy", low=0.0, high=1e3)

    @classmethod
    def from_preset(cls, preset: str = "default", **overrides: Any) -> Settings:
        """The preset's values with the given ones in their place, each checked. Old names of settings work too."""
        overrides = {RENAMED.get(name, name): value for name, value in overrides.items()}
        if preset not in PRESETS:
            raise SettingError(f"unknown preset {preset!r}: use {' or '.join(PRESETS)}")
        for name in overrides:
            if name not in NAMES:
                close = difflib.get_close_matches(name, NAMES, n=1)
                hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(NAMES)}"
                raise SettingError(f"unknown setting {name!r}: {hint}")
        values = {**PRESETS["paper"], **PRESETS[preset], **overrides}
        return cls(**{name: check(name, value) for name, value in values.items()})

    def with_(self, **changes: Any) -> Settings:
        """A copy with some values changed."""
        return replace(self, **changes)

    def for_data(self, texts: Sequence[str], n_categories: int) -> Settings:
        """A copy in which nothing is "auto" any more."""
        k, epochs, layers = self.neighbours, self.epochs, self.trained_layers
        if layers == "auto":
            layers = TOP_LAYERS if are_long(texts) else "all" if len(texts) < FEW else "layers"
        return self.with_(
            augment_rate=augment_rate_for(len(texts)) if self.augment_rate == "auto" else self.augment_rate,
            neighbours=neighbours_for(len(texts), n_categories) if k == "auto" else k,
            epochs=epochs_for(len(texts)) if epochs == "auto" else epochs,
            trained_layers=layers,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def neighbours_for(n_texts: int, n_categories: int) -> int:
    """A k a little below the size of a category, which serves best (the paper's figure 4, and its k of 120)."""
    return int(min(250, max(5, round(0.85 * n_texts / max(1, n_categories)))))


def epochs_for(n_texts: int) -> int:
    """Four epochs of many texts, up to eight of few: two hundred steps or more, if batches are as usual."""
    return int(min(8, max(4, round(12_800 / max(1, n_texts)))))


def augment_rate_for(n_texts: int) -> float:
    """The paper's quarter of the tokens; more of them if there are few texts."""
    return 0.4 if n_texts < FEW else 0.25


def are_long(texts: Sequence[str]) -> bool:
    """Whether the texts are abstracts and letters rather than questions and messages, on average."""
    return sum(map(len, texts)) > LONG * len(texts)


_FIELDS = {f.name: f for f in fields(Settings)}
NAMES = tuple(_FIELDS)
_TYPES = {
    name: tuple(get_args(kind)) if isinstance(kind, types.UnionType) else (kind,)
    for name, kind in get_type_hints(Settings).items()
}


def about(name: str) -> str:
    """One line on a setting: its meaning and what is allowed."""
    return (
        f"{_FIELDS[name].metadata['about']} ({_allowed(name)})" if _allowed(name) else _FIELDS[name].metadata["about"]
    )


def _allowed(name: str) -> str:
    data = _FIELDS[name].metadata
    parts = [] if data["low"] is None else [f"{data['low']:g} to {data['high']:g}"]
    return " or ".join([*parts, *(f'"{choice}"' for choice in data["choices"])])


def check(name: str, value: Any) -> Any:
    """The value in the setting's type, or an error that states the allowed range. Strings from a command line work."""
    data, kinds = _FIELDS[name].metadata, _TYPES[name]
    if isinstance(value, str) and (value in data["choices"] or (str in kinds and not data["choices"])):
        return value
    number = next((kind for kind in kinds if kind in (int, float)), None)
    if number is not None and type(value).__name__ not in ("bool", "bool_"):
        try:
            converted = number(value)
        except (TypeError, ValueError, OverflowError):
            converted = None
        same = converted is not None and (isinstance(value, str) or converted == value)
        if converted is not None and same and data["low"] <= converted <= data["high"]:
            return converted
    raise SettingError(f"{name} is {value!r}: it must be {_allowed(name) or 'a name'}")


def check_backend(backend: str) -> None:
    """Refuse a backend that there is not, or whose libraries are not there."""
    if backend not in BACKENDS:
        raise SettingError(f"unknown backend {backend!r}: use {' or '.join(BACKENDS)}")
    missing = [name for name in BACKENDS[backend] if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(f"the backend {backend} needs {' and '.join(missing)}: pip install 'subtaxa[onnx]'")


def whole_number(value: str, name: str, least: int = 0) -> int:
    """The number that a person typed for `name`."""
    if not value.isascii() or not value.isdigit() or not least <= int(value) < 2**31:
        raise SettingError(f"{name} is {value!r}: it must be a whole number from {least} to {2**31 - 1}")
    return int(value)


PRESETS: dict[str, dict[str, Any]] = {
    # Every value the paper gives. Its k and its longest text are per data set (k 120 / 250 / 120 and 30 / 200 / 10
    # tokens for CLINC / WOS / HWU64). It names no schedule: linear with a warm-up of 10 % is our choice.
    "paper": {
        "method": "dna",
        "encoder": "packaged",
        "pooling": "cls",
        "max_tokens": "model",
        "trained_layers": "all",
        "dropout": "model",
        "pretrain_epochs": 100,
        "pretrain_patience": 20,
        "pretrain_holdout": 0.2,
        "epochs": 20,
        "batch_size": 64,
        "learning_rate": 5e-5,
        "schedule": "linear",
        "warmup": 0.1,
        "schedule_length": 1.0,
        "weight_decay": 0.01,
        "max_grad_norm": 1.0,
        "augment": "replace",
        "augment_rate": 0.25,
        "augment_tokens": 64,
        "neighbours": 120,
        "momentum": 0.99,
        "temperature": 0.07,
        "rank_top_m": 5,
        "rank_epochs": 1,
        "coarse_weight": 1.0,
    },
    # What serves a user best on a CPU; the default method has its own (docs/default.md), the others get these.
    "default": {
        "method": "soft-dna",
        "pooling": "model",
        "trained_layers": 2,
        "pretrain_epochs": 0,
        "epochs": 6,
        "learning_rate": 5e-4,
        "augment": "drop",
        "neighbours": "auto",
        "momentum": 0.9,
        "rank_epochs": 0,
        "coarse_weight": 0.0,
    },
}
# A first look in little more than one reading of the texts: the encoder stays as it is (docs/default.md).
PRESETS["quick"] = {**PRESETS["default"], "method": "head-only"}
