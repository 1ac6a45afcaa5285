"""Finds an encoder by its name: sentence-transformers models, and encoders that installed packages add.

A package adds an encoder through the entry-point group `subtaxa.encoders`. The entry's name is what the user types as
`--encoder NAME` or `--encoder NAME:MODEL`. The entry's object is called like `SentenceEncoder` and returns an
`Encoder` (base.py). Its first argument is MODEL, which may be empty, or a folder that `Encoder.save` wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SettingError

GROUP = "subtaxa.encoders"
BUILT_IN = "sentence-transformers"


def implementations() -> dict[str, Callable[..., Encoder]]:
    """Every implementation by its name. An entry point that cannot be imported is an error in one sentence."""
    found: dict[str, Callable[..., Encoder]] = {BUILT_IN: SentenceEncoder}
    for entry in entry_points(group=GROUP):
        if entry.name in found:
            raise SettingError(f"two installed packages add an encoder named {entry.name!r}: uninstall one of them")
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise SettingError(f"cannot import the encoder {entry.name!r} ({reason}): update its package") from error
    return found


def load_encoder(
    name: str,
    *,
    pooling: str = "model",
    max_tokens: int | None = None,
    trained_layers: int | str = "all",
    dropout: float | None = None,
) -> Encoder:
    """The encoder that the setting `encoder` names, not yet trained."""
    kind, model = split_name(name)
    make = implementations()[kind]
    encoder = make(model, pooling=pooling, max_tokens=max_tokens, trained_layers=trained_layers, dropout=dropout)
    return _checked(encoder, kind)


def load_saved(folder: Path, name: str) -> Encoder:
    """The trained encoder in a folder, given the setting `encoder` of the run that saved it."""
    kind, _ = split_name(name)
    return _checked(implementations()[kind](str(folder.resolve()), trained_layers="all"), kind)


def split_name(name: str) -> tuple[str, str]:
    """The implementation and the model that an encoder setting names. Other names are sentence-transformers models."""
    kind, _, model = name.partition(":")
    if any(entry.name == kind for entry in entry_points(group=GROUP)):
        return kind, model
    return BUILT_IN, name


def _checked(encoder: Encoder, kind: str) -> Encoder:
    """Refuse an object without the methods of an encoder."""
    if not isinstance(encoder, Encoder):
        names = {name for base in Encoder.__mro__ for name in vars(base) if not name.startswith("_")}
        missing = sorted(name for name in names | {"chunk_tokens"} if not hasattr(encoder, name))
        raise SettingError(f"the encoder {kind!r} has no {', '.join(missing)}: update the package that adds it")
    return encoder
