"""The encoder of a run, for several threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.text_reader import TextReader

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder
    from subtaxa.encoders.lexical import Vocabulary


class SharedReader(TextReader):
    """Lets one thread at a time read texts: neither loading an encoder nor a tokenizer is safe for several threads."""

    def __init__(self, reader: TextReader) -> None:
        self.reader, self._lock = reader, threading.RLock()

    @property
    def encoder(self) -> Encoder:
        with self._lock:
            return self.reader.encoder

    @property
    def vocabulary(self) -> Vocabulary | None:
        with self._lock:
            return self.reader.vocabulary

    @property
    def folder(self) -> Path | None:
        """The run folder that the encoder comes from."""
        return getattr(self.reader, "folder", None)

    def features(self, texts: Sequence[str], progress: Progress) -> Floats:
        with self._lock:
            return self.reader.features(texts, progress)

    def embed(self, phrases: Sequence[str]) -> Floats:
        with self._lock:
            return self.reader.embed(phrases)
