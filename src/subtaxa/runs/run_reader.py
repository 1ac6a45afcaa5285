"""The reader of a saved run. It loads encoder and vocabulary when they are first needed: most commands need neither."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.encoders.lexical import Vocabulary
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout, reading
from subtaxa.runs.digests import verify
from subtaxa.taxonomy.text_reader import TextReader

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder, TextEncoder


class RunReader(TextReader):
    """Reads texts with the model in a run folder. `width` is the number of features that the run's categories have.

    `facts` is the content of run.json when the run was loaded. It holds the digests of the model that belongs to these
    categories: if the folder has another model by the time one is needed, it is refused.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any], width: int, backend: str = "torch") -> None:
        self.folder, self.facts, self.width, self.backend = folder.absolute(), facts, width, backend

    @cached_property
    def encoder(self) -> Encoder:
        """The trained encoder, verified and loaded from the run folder."""
        from subtaxa.encoders.registry import load_saved

        self._verify(layout.MODEL)
        encoder = load_saved(self.folder / layout.MODEL, str(self.facts["settings"]["encoder"]))
        self._verify(layout.MODEL)  # It may have been replaced while it was loaded.
        words = self.vocabulary
        if encoder.dimensions + (0 if words is None else words.width) != self.width:
            raise InputError(f"the model in {str(self.folder)!r} does not match its categories: run discover again")
        return encoder

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary, verified and loaded from the run folder, if it has one."""
        path = self.folder / layout.WORDS
        self._verify(layout.WORDS)
        if not path.exists():
            return None
        try:
            arrays = array_files.read_arrays(path)
            self._verify(layout.WORDS)
            return Vocabulary.of_arrays(arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error

    def _verify(self, name: str) -> None:
        """Refuse a file that is not the one that the run had when it was loaded."""
        try:
            verify(self.folder, self.facts, name)
        except InputError as error:
            if not self._is_as_loaded():
                raise InputError(
                    f"{str(self.folder)!r} was replaced by another run after it was loaded: load it again"
                ) from error
            raise

    def _is_as_loaded(self) -> bool:
        facts = reading.read_run(self.folder)
        return all(facts.get(name) == self.facts.get(name) for name in ("files", "created"))

    @cached_property
    def inference_encoder(self) -> TextEncoder:
        """The encoder, or its 8-bit export if that is the backend."""
        if self.backend == "torch":
            return self.encoder
        from subtaxa.runs.onnx_export import int8_encoder

        return int8_encoder(self.encoder, self.folder)
