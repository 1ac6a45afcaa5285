"""Turns new texts into features with the trained encoder and, if the model uses them, lexical features.

n texts, D dimensions of the encoder, W dimensions of the lexical features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from subtaxa.data.values import CleanTexts, clean
from subtaxa.encoders.lexical import concatenated
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder, TextEncoder
    from subtaxa.encoders.lexical import Vocabulary


class TextReader(ABC):
    """The encoder and the vocabulary of a fitted state. A subclass says where they come from."""

    @property
    @abstractmethod
    def encoder(self) -> Encoder:
        """The trained encoder."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the lexical features, or None if the model does not use them."""

    @property
    def inference_encoder(self) -> TextEncoder:
        """What encodes new texts: the encoder itself, or an export of it."""
        return self.encoder

    def features(self, texts: Sequence[str], progress: Progress) -> Floats:
        """Unit features of new texts: (n, D), or (n, D + W) with lexical features."""
        distinct = sorted(set(texts))  # Copies are read once, and the order of the texts has no effect on rounding.
        place = {text: i for i, text in enumerate(distinct)}
        with progress.step("Reading the texts", len(texts)) as step:
            features: Floats = self.inference_encoder.encode(distinct, step.advance).cpu().numpy()
            step.advance(len(texts) - len(distinct))
        return self._with_words(features, distinct)[[place[text] for text in texts]]

    def embed(self, phrases: Sequence[str]) -> Floats:
        """The same features, without progress. Phrases are short, so this takes a moment only."""
        return self._with_words(self.encoder.encode(list(phrases)).cpu().numpy(), phrases)

    def _with_words(self, features: Floats, texts: Sequence[str]) -> Floats:
        words = self.vocabulary
        return features if words is None else concatenated(features, words.features(texts), words.weight)


class MemoryReader(TextReader):
    """The reader of a state that was fitted in this process."""

    def __init__(self, encoder: Encoder, vocabulary: Vocabulary | None) -> None:
        self._encoder, self._vocabulary = encoder, vocabulary

    @property
    def encoder(self) -> Encoder:
        return self._encoder

    @property
    def vocabulary(self) -> Vocabulary | None:
        return self._vocabulary


def as_texts(texts: Sequence[str]) -> CleanTexts:
    """A caller's list as clean strings; texts that a reader has already cleaned are returned as they are."""
    if isinstance(texts, CleanTexts):
        return texts
    if isinstance(texts, (str, bytes)):
        raise InputError(f"texts is a single string, {str(texts)[:40]!r}: give a list of strings")
    return CleanTexts(clean(str(text)) for text in texts)
