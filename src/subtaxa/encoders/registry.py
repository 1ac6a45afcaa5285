"""Finds an encoder by its name: sentence-transformers models, and encoders that installed packages add.

A package adds an encoder through the entry-point group `subtaxa.encoders`. The entry's name is what the user types as
`--encoder NAME` or `--encoder NAME:MODEL`. The entry's object is called like `SentenceEncoder` and returns an
`Encoder` (base.py). Its first argument is MODEL, which may be empty, or a folder that `Encoder.save` wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SettingError
from subtaxa.runtime.plugins import Registry

BUILT_IN = "sentence-transformers"
ENCODERS: Registry[Callable[..., Encoder]] = Registry("encoder", "subtaxa.encoders", {BUILT_IN: SentenceEncoder})


def load_encoder(
    name: str,
    *,
    pooling: str = "model",
    max_tokens: int | None = None,
    trained_layers: int | str = "all",
    dropout: float | None = None,
    prompt: str = "model",
    dimensions: int | None = None,
) -> Encoder:
    """The encoder that the setting `encoder` names, not yet trained."""
    kind, model = split_name(name)
    # Encoders of other packages need not know what is not asked for.
    asked = ({"prompt": prompt} if prompt != "model" else {}) | ({"dimensions": dimensions} if dimensions else {})
    encoder = ENCODERS.get(kind)(
        model, pooling=pooling, max_tokens=max_tokens, trained_layers=trained_layers, dropout=dropout, **asked
    )
    return _checked(encoder, kind)


def load_saved(folder: Path, name: str) -> Encoder:
    """The trained encoder in a folder, given the setting `encoder` of the run that saved it."""
    kind, _ = split_name(name)
    return _checked(ENCODERS.get(kind)(str(folder.resolve()), trained_layers="all"), kind)


def split_name(name: str) -> tuple[str, str]:
    """The implementation and the model that an encoder setting names. Other names are sentence-transformers models."""
    kind, _, model = name.partition(":")
    if kind in ENCODERS.installed():
        return kind, model
    return BUILT_IN, name


def _checked(encoder: Encoder, kind: str) -> Encoder:
    """Refuse an object without the methods of an encoder."""
    if not isinstance(encoder, Encoder):
        names = {name for base in Encoder.__mro__ for name in vars(base) if not name.startswith("_")}
        missing = sorted(name for name in names | {"chunk_tokens"} if not hasattr(encoder, name))
        raise SettingError(f"the encoder {kind!r} has no {', '.join(missing)}: update the package that adds it")
    return encoder
