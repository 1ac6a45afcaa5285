"""Numbers stay numbers: a NaN or an infinity stops the work, with where it came up and at which texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from subtaxa.errors import SubtaxaError

SHOWN = 3  # texts that are named
WIDTH = 60  # characters of each
TRAINED = "start again with --overwrite and a lower --learning-rate or a higher --temperature"
UNTRAINED = "use another --encoder"


class NotFinite(SubtaxaError):
    """Something is no longer a number. `texts` are positions, until somebody who knows the texts puts in `names`."""

    def __init__(self, what: str, texts: Sequence[int], where: str = "", names: Sequence[str] = ()) -> None:
        self.what, self.texts, self.where, self.names = what, list(texts), where, list(names)
        at = f" {where}" if where else ""
        more = f" and {len(texts) - len(names)} more" if len(texts) > len(names) else ""
        told = f" with the text {', '.join(names)}{more}" if names else ""
        super().__init__(f"{what}{at}{told}: {TRAINED if where else UNTRAINED}")

    def at(self, where: str) -> NotFinite:
        """The same, told where in the training it was."""
        return NotFinite(self.what, self.texts, self.where or where, self.names)


def check_rows(rows: Tensor) -> None:
    """Refuse features (N, D) unless every one of them is a number."""
    wrong = (~torch.isfinite(rows).all(1)).nonzero().flatten().tolist()
    if wrong:
        raise NotFinite(f"the features of {len(wrong):,} of {len(rows):,} texts are not numbers", wrong)


@contextmanager
def naming(texts: Sequence[str], rows: Sequence[int] | None = None, where: str = "") -> Iterator[None]:
    """Put the texts, and the rows of the user's file, into an error that knows only their positions."""
    try:
        yield
    except NotFinite as error:
        names = []
        for i in error.texts[:SHOWN]:
            short = texts[i] if len(texts[i]) <= WIDTH else f"{texts[i][:WIDTH]}…"
            names.append(repr(short) if rows is None else f"{short!r} (row {rows[i]})")
        raise NotFinite(error.what, error.texts, error.where or where, names) from error
