"""Every setting of a fit with its meaning, its allowed range and its value in each preset."""

from __future__ import annotations

import difflib
import importlib.util
import types
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from subtaxa.errors import SettingError

# Texts are long if they average more than this many characters. Training every layer on them takes too long.
LONG = 400

# On long or few texts only this many layers are trained. The output of the layers below is computed once.
TOP_LAYERS = 2

# A data set is small below this many texts, which is 100 steps per epoch at the usual batch size. Training the top
# layers is then about as good as training all of them and takes a third of the time. Stronger augmentation and a larger
# share of the untrained weights pay off.
FEW = 6400

# Old name to new name. Runs and records written by 0.1 hold the old names.
RENAMED = {
    "clip": "max_grad_norm",
    "view": "augment",
    "view_rate": "augment_rate",
    "view_tokens": "augment_tokens",
    "rank_dimensions": "rank_top_m",
}

# What can encode new texts, and the extra libraries each one needs.
BACKENDS = {"torch": (), "onnx-int8": ("onnx", "onnxruntime")}


def _setting(about: str, *, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A required dataclass field with its meaning and its allowed range."""
    return field(metadata={"about": about, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """The value of every setting of a fit. Build it with `Settings.from_preset`.

    Examples
    --------
    >>> from subtaxa import Settings
    >>> settings = Settings.from_preset("quick", batch_size=32)
    >>> settings.method, settings.batch_size
    ('head-only', 32)
    """

    method: str = _setting("training method; `subtaxa methods` lists them")
    encoder: str = _setting(
        "text encoder: a name that `subtaxa encoders` lists, a model folder or a Hugging Face model name"
    )
    pooling: str = _setting("how token features are pooled into one feature per text", choices=("model", "cls", "mean"))
    prompt: str = _setting(
        'text put before every text, such as "query: ", or the name of one of its prompts; model stands for its own'
    )
    dimensions: int | str = _setting(
        "number of dimensions that are kept of an encoder with Matryoshka training",
        low=1,
        high=65_536,
        choices=("model",),
    )
    max_tokens: int | str = _setting(
        "maximum number of tokens per text; longer texts are truncated", low=3, high=32768, choices=("model",)
    )
    trained_layers: int | str = _setting(
        "number of layers to train, from the top; all includes the word embeddings, layers does not",
        low=0,
        high=1000,
        choices=("all", "layers", "auto"),
    )
    dropout: float | str = _setting(
        "dropout rate of the encoder during training", low=0.0, high=0.9, choices=("model",)
    )
    pretrain_epochs: int = _setting("maximum number of epochs of pretraining on the coarse labels", low=0, high=10_000)
    pretrain_patience: int = _setting("stop pretraining after this many epochs without improvement", low=1, high=10_000)
    pretrain_holdout: float = _setting(
        "share of the texts held out to choose the best pretraining epoch", low=0.01, high=0.5
    )
    epochs: int | str = _setting(
        "number of training epochs, not counting pretraining", low=0, high=10_000, choices=("auto",)
    )
    batch_size: int = _setting("number of texts per training step", low=1, high=65_536)
    learning_rate: float | str = _setting(
        "peak learning rate of the AdamW optimiser", low=1e-9, high=1.0, choices=("auto",)
    )
    schedule: str = _setting(
        "how the learning rate changes after the warm-up", choices=("constant", "linear", "cosine")
    )
    warmup: float = _setting("share of the training steps used for learning-rate warm-up", low=0.0, high=1.0)
    schedule_length: float = _setting(
        "length of the schedule relative to the training; above 1 the training ends before the schedule does",
        low=1.0,
        high=100.0,
    )
    weight_decay: float = _setting("weight decay; biases and normalisation layers are exempt", low=0.0, high=1.0)
    untrained_share: float | str = _setting(
        "share of the untrained weights in the final weights; 0 keeps the trained ones as they are",
        low=0.0,
        high=1.0,
        choices=("auto",),
    )
    max_grad_norm: float = _setting("gradients with a larger norm are scaled down to this norm", low=1e-6, high=1e6)
    augment: str = _setting("how training texts are augmented", choices=("replace", "drop", "shorten", "none"))
    augment_rate: float | str = _setting(
        "share of the tokens that augmentation changes", low=0.0, high=0.9, choices=("auto",)
    )
    augment_tokens: int = _setting("maximum number of tokens per text with the augmentation shorten", low=3, high=32768)
    neighbours: int | str = _setting(
        "number of neighbours retrieved per text (k)", low=1, high=100_000, choices=("auto",)
    )
    momentum: float = _setting(
        "momentum of the key encoder (α); 0 copies the query encoder after every step", low=0.0, high=0.9999
    )
    temperature: float = _setting("temperature of the contrastive loss (τ)", low=1e-3, high=10.0)
    rank_top_m: int = _setting("number of largest components that the rank filter compares (m)", low=1, high=100_000)
    rank_epochs: int = _setting("number of epochs, from the first, that use the rank filter", low=0, high=10_000)
    coarse_weight: float = _setting("weight of the cross-entropy loss on the coarse labels", low=0.0, high=1e3)
    cluster_rule: str = _setting("how categories are formed: tree, merged, balanced, ward, kmeans or an installed rule")
    number_estimator: str = _setting(
        "how the number of categories is estimated: silhouette, gap, stability or another one"
    )
    plausible_loss: float = _setting(
        "a number of categories counts 1/e as much as the best if its silhouette is lower by this share",
        low=0.0,
        high=1.0,
    )
    outlier_deviations: float = _setting(
        "a text is an outlier this many standard deviations below its category's median similarity", low=0.0, high=1e3
    )
    label_error_share: float = _setting(
        "a label is suspect if this share of the text's neighbours has another label", low=0.0, high=1.0
    )
    new_category_lift: float = _setting(
        "new texts form a category if their neighbours are new this many times as often as by chance",
        low=1.0,
        high=1e6,
    )

    @classmethod
    def from_preset(cls, preset: str = "default", **overrides: Any) -> Settings:
        """The settings of a preset with some values overridden, all of them checked. Old setting names still work."""
        overrides = {RENAMED.get(name, name): value for name, value in overrides.items()}
        if preset not in PRESETS:
            raise SettingError(f"unknown preset {preset!r}: use {either(PRESETS)}")
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

    def for_data(self, texts: Sequence[str]) -> Settings:
        """A copy in which every "auto" is replaced by the value that suits the data."""
        k, epochs, layers, rate = self.neighbours, self.epochs, self.trained_layers, self.learning_rate
        if layers == "auto":
            layers = TOP_LAYERS if are_long(texts) or len(texts) < FEW else "layers"
        return self.with_(
            augment_rate=augment_rate_for(len(texts)) if self.augment_rate == "auto" else self.augment_rate,
            neighbours=neighbours_for(len(texts)) if k == "auto" else k,
            untrained_share=untrained_share_for(len(texts)) if self.untrained_share == "auto" else self.untrained_share,
            epochs=epochs_for(len(texts)) if epochs == "auto" else epochs,
            learning_rate=learning_rate_for(layers) if rate == "auto" else rate,
            trained_layers=layers,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def neighbours_for(n_texts: int) -> int:
    """√N neighbours: more for larger data sets, but without a guess at the number of categories."""
    return int(min(250, max(5, round(n_texts**0.5))))


def epochs_for(n_texts: int) -> int:
    """Four epochs for large data sets, up to eight for small ones, which are then trained for about 200 steps."""
    return int(min(8, max(4, round(12_800 / max(1, n_texts)))))


def learning_rate_for(trained_layers: int | str) -> float:
    """The top layers alone must move further than all layers together."""
    return 8e-4 if isinstance(trained_layers, int) else 2e-4


def augment_rate_for(n_texts: int) -> float:
    """The paper's rate of 0.25, or a higher one for small data sets."""
    return 0.4 if n_texts < FEW else 0.25


def untrained_share_for(n_texts: int) -> float:
    """A quarter, or more for small data sets, whose few steps of training teach the encoder less than it forgets."""
    return 0.6 if n_texts < FEW else 0.25


def are_long(texts: Sequence[str]) -> bool:
    """Whether the texts are, on average, as long as abstracts or letters rather than questions or messages."""
    return sum(map(len, texts)) > LONG * len(texts)


_FIELDS = {f.name: f for f in fields(Settings)}
NAMES = tuple(_FIELDS)
_TYPES = {
    name: tuple(get_args(kind)) if isinstance(kind, types.UnionType) else (kind,)
    for name, kind in get_type_hints(Settings).items()
}


def about(name: str) -> str:
    """One line about a setting: its meaning and its allowed values."""
    return (
        f"{_FIELDS[name].metadata['about']} ({_allowed(name)})" if _allowed(name) else _FIELDS[name].metadata["about"]
    )


def _allowed(name: str) -> str:
    data = _FIELDS[name].metadata
    parts = [] if data["low"] is None else [f"{data['low']:g} to {data['high']:g}"]
    parts += [f'"{choice}"' for choice in data["choices"]]
    return either(parts) if parts else ""


def either(names: Iterable[str]) -> str:
    """The names as a list of alternatives: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def check(name: str, value: Any) -> Any:
    """Convert a value to the type of its setting, or raise an error that states the allowed values.

    Numbers may be strings, as on the command line.
    """
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
    shown = f"{value[:37]}..." if isinstance(value, str) and len(value) > 40 else value
    raise SettingError(f"{name} is {shown!r}: it must be {_allowed(name) or 'a name'}")


def check_backend(backend: str) -> None:
    """Refuse a backend that is unknown or whose libraries are not installed."""
    if backend not in BACKENDS:
        raise SettingError(f"unknown backend {backend!r}: use {either(BACKENDS)}")
    missing = [name for name in BACKENDS[backend] if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(f"the backend {backend!r} needs {' and '.join(missing)}: run `pip install 'subtaxa[onnx]'`")


def whole_number(value: str, name: str, least: int = 0) -> int:
    """The whole number in a string that the user gave for `name`."""
    digits = value.lstrip("0") or "0"  # Python refuses to read numbers of thousands of digits.
    if not value.isascii() or not value.isdigit() or len(digits) > 10 or not least <= int(digits) < 2**31:
        shown = value if len(value) <= 40 else f"{value[:37]}..."
        raise SettingError(f"{name} is {shown!r}: it must be a whole number from {least} to {2**31 - 1}")
    return int(digits)


PRESETS: dict[str, dict[str, Any]] = {
    # The values of the paper. It gives `neighbours` and `max_tokens` per data set (120 / 250 / 120 neighbours and
    # 30 / 200 / 10 tokens for CLINC / WOS / HWU64). It names no schedule; linear with 10 % warm-up is our choice.
    "paper": {
        "method": "dna",
        "encoder": "packaged",
        "pooling": "cls",
        "prompt": "model",
        "dimensions": "model",
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
        "untrained_share": 0.0,
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
        "cluster_rule": "tree",
        "number_estimator": "silhouette",
        "plausible_loss": 0.05,
        "outlier_deviations": 5.0,
        "label_error_share": 0.8,
        "new_category_lift": 8.0,
    },
    # Values that suit most users on a CPU. A method's own settings take precedence over these.
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
# A quick first look: the texts are encoded once and the encoder is not trained.
PRESETS["quick"] = {**PRESETS["default"], "method": "head-only"}
