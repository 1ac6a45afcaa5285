"""Stops a fit at the first NaN or infinity, with an error that says where it occurred and for which texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from subtaxa.errors import SubtaxaError

# The number of texts that an error shows.
SHOWN = 3

# The number of characters that an error shows of each text.
WIDTH = 60

# What the user can do if training caused it, and if the encoder did.
AFTER_TRAINING = "start again with --overwrite and a lower --learning-rate or a higher --temperature"
BEFORE_TRAINING = "use another --encoder"


class NotFinite(SubtaxaError):
    """A value is NaN or infinite. `texts` holds positions; `with_texts` adds the texts themselves as `names`."""

    def __init__(self, what: str, texts: Sequence[int], where: str = "", names: Sequence[str] = ()) -> None:
        self.what, self.texts, self.where, self.names = what, list(texts), where, list(names)
        at = f" {where}" if where else ""
        more = f" and {len(texts) - len(names)} more" if len(texts) > len(names) else ""
        shown = f" with the text {', '.join(names)}{more}" if names else ""
        super().__init__(f"{what}{at}{shown}: {AFTER_TRAINING if where else BEFORE_TRAINING}")

    def at(self, where: str) -> NotFinite:
        """The same error with the place in the training where it occurred."""
        return NotFinite(self.what, self.texts, self.where or where, self.names)


def check_rows(rows: Tensor) -> None:
    """Raise an error if a feature (N, D) is not finite."""
    wrong = (~torch.isfinite(rows).all(1)).nonzero().flatten().tolist()
    if wrong:
        raise NotFinite(f"the features of {len(wrong):,} of {len(rows):,} texts are not numbers", wrong)


@contextmanager
def with_texts(texts: Sequence[str], rows: Sequence[int] | None = None, where: str = "") -> Iterator[None]:
    """Add the texts, and their rows in the user's file, to an error that knows only their positions."""
    try:
        yield
    except NotFinite as error:
        names = []
        for i in error.texts[:SHOWN]:
            short = texts[i] if len(texts[i]) <= WIDTH else f"{texts[i][:WIDTH]}…"
            names.append(repr(short) if rows is None else f"{short!r} (row {rows[i]})")
        raise NotFinite(error.what, error.texts, error.where or where, names) from error
