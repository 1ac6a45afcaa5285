"""How a fitted model reads new texts: by its encoder, or the export of it, and by their words where these count.

n texts, D dimensions, W word dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from subtaxa.data.raw_files import clean
from subtaxa.encoders.base import Encoder, TextEncoder
from subtaxa.encoders.lexical import Vocabulary, joined
from subtaxa.encoders.registry import load_saved
from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runs.digests import verify
from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress, progress_for
from subtaxa.settings import Settings


class Reading:
    """What reading needs of a model. Of a loaded run, encoder and words are read from its folder when they are first
    needed: most commands do without."""

    verbose: bool
    settings_: Settings
    folder_: Path  # of a loaded run
    backend_ = "torch"  # what reads new texts
    features_: Floats  # (N, D) or (N, D + W) of the texts it was fitted on

    @cached_property
    def encoder_(self) -> Encoder:
        """The trained encoder."""
        if not hasattr(self, "folder_"):
            raise AttributeError("encoder_ is there after fit or load")
        verify(self.folder_, layout.read_run(self.folder_), layout.MODEL)
        encoder = load_saved(self.folder_ / layout.MODEL, self.settings_.encoder)
        words = self.vocabulary_
        if encoder.dimensions + (0 if words is None else words.width) != self.features_.shape[1]:
            raise InputError(f"the model in {str(self.folder_)!r} does not fit its categories: run discover again")
        return encoder

    @cached_property
    def vocabulary_(self) -> Vocabulary | None:
        """The words that count beside the encoder's features, if any do."""
        if not hasattr(self, "folder_"):
            raise AttributeError("vocabulary_ is there after fit or load")
        path = self.folder_ / layout.WORDS
        verify(self.folder_, layout.read_run(self.folder_), layout.WORDS)
        if not path.exists():
            return None
        try:
            return Vocabulary.of_arrays(layout.read_arrays(path))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error

    @cached_property
    def reader_(self) -> TextEncoder:
        """What turns new texts into features: the encoder itself, or its export."""
        if self.backend_ == "torch":
            return self.encoder_
        from subtaxa.runs.onnx_export import int8_encoder

        return int8_encoder(self.encoder_, self.folder_)

    def transform(self, texts: Sequence[str], progress: Progress | None = None) -> Floats:
        """Unit features (n, D) of new texts by the trained encoder, with their words if these count (n, D + W)."""
        check_is_fitted(self, "clusters_")
        texts = as_texts(texts)
        with (progress or progress_for(quiet=not self.verbose)).step("Reading the texts", len(texts)) as step:
            features = self.reader_.encode(texts, step.advance).cpu().numpy()
        words = self.vocabulary_
        return features if words is None else joined(features, words.rows(texts), words.weight)


def as_texts(texts: Sequence[str]) -> list[str]:
    """Texts as every reader takes them."""
    if isinstance(texts, (str, bytes)):
        raise InputError(f"texts is a single string, {str(texts)[:40]!r}: give a list of strings")
    return [clean(str(text)) for text in texts]
