"""The reader of a saved run. It loads encoder and vocabulary when they are first needed: most commands need neither."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from subtaxa.encoders.lexical import Vocabulary
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout, reading
from subtaxa.runs.digests import verify
from subtaxa.taxonomy.text_reader import TextReader

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder, TextEncoder


class RunReader(TextReader):
    """Reads texts with the model in a run folder. `width` is the number of features that the run's categories have."""

    def __init__(self, folder: Path, width: int, backend: str = "torch") -> None:
        self.folder, self.width, self.backend = folder, width, backend

    @cached_property
    def encoder(self) -> Encoder:
        """The trained encoder, verified and loaded from the run folder."""
        from subtaxa.encoders.registry import load_saved

        facts = reading.read_run(self.folder)
        verify(self.folder, facts, layout.MODEL)
        encoder = load_saved(self.folder / layout.MODEL, str(facts["settings"]["encoder"]))
        words = self.vocabulary
        if encoder.dimensions + (0 if words is None else words.width) != self.width:
            raise InputError(f"the model in {str(self.folder)!r} does not match its categories: run discover again")
        return encoder

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary, verified and loaded from the run folder, if it has one."""
        path = self.folder / layout.WORDS
        verify(self.folder, reading.read_run(self.folder), layout.WORDS)
        if not path.exists():
            return None
        try:
            return Vocabulary.of_arrays(array_files.read_arrays(path))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{str(path)!r} is damaged ({error}): run discover again") from error

    @cached_property
    def inference_encoder(self) -> TextEncoder:
        """The encoder, or its 8-bit export if that is the backend."""
        if self.backend == "torch":
            return self.encoder
        from subtaxa.runs.onnx_export import int8_encoder

        return int8_encoder(self.encoder, self.folder)
