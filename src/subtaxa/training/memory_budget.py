"""How much memory a fit needs, how much there is, and what is done when it is too little.

The figures are upper estimates, compared with measured runs in docs/explanation/reliability.md. N texts, k neighbours,
D dimensions, K categories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.free_memory import available, gigabytes
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder
    from subtaxa.encoders.tokens import Tokens

FLOAT = 4  # bytes
COPIES = 6  # of all features at a time: untrained, in the queue, compared, found, in our order and in the caller's
PAIR = 32  # bytes of a text and one of its neighbours, while it is found out who names whom
ACTIVATION = 25  # numbers kept for the way back, for each token, dimension and layer
LOGITS = 3 * 2**27  # bytes at most of a batch's similarities to all texts
MARGIN = 1.25  # for what nobody counted
LEAST_CHUNK = 64  # tokens read at a time when memory is short


@dataclass(frozen=True)
class Sizes:
    """The sizes that the need for memory depends on."""

    texts: int
    dimensions: int
    neighbours: int
    categories: int
    weights: int  # that are trained
    layers: int  # that are trained
    width: int  # of a layer inside
    tokens: int  # of the longest view of a text
    batch: int
    chunk: int  # tokens that are read at a time

    @classmethod
    def of(cls, encoder: Encoder, tokens: Tokens, settings: Settings, categories: int) -> Sizes:
        longest = int(tokens.lengths.max())
        return cls(
            texts=len(tokens),
            dimensions=encoder.dimensions,
            neighbours=min(int(settings.neighbours), len(tokens)),
            categories=categories,
            weights=sum(p.numel() for p in encoder.tower.parameters() if p.requires_grad),
            layers=encoder.n_layers - encoder.n_frozen_layers,
            width=encoder.inner_dimensions,
            tokens=min(longest, settings.augment_tokens) if settings.augment == "shorten" else longest,
            batch=min(settings.batch_size, len(tokens)),
            chunk=encoder.chunk_tokens,
        )

    @property
    def need(self) -> int:
        """Bytes that will be needed at once, besides what is in use already."""
        own = self.texts * (COPIES * self.dimensions * FLOAT + self.neighbours * PAIR)
        reading = self.chunk * (2 * self.width + 8 * self.dimensions) * FLOAT
        step = self.batch * self.tokens * self.layers * self.dimensions * ACTIVATION * FLOAT
        step += min(LOGITS, 3 * self.batch * self.texts * FLOAT)
        state = self.weights * FLOAT * 4  # gradients, both moments, a momentum encoder; and as much again to save it
        finding = self.texts * self.categories * 2 * FLOAT
        return int(MARGIN * (own + max(state + max(reading, step, state), finding)))


def fit_into_memory(job: Sizes, progress: Progress) -> Sizes:
    """The job, or one that reads fewer tokens at a time, if that fits; else an error that says what would."""
    free = available()
    smaller = [job, *(replace(job, chunk=chunk) for chunk in _halves(job.chunk, LEAST_CHUNK))]
    for one in smaller:
        if one.need <= free:
            if one is not job:
                progress.say(f"memory is short ({gigabytes(free)} free): texts are read {one.chunk} tokens at a time")
            return one
    batch = next((n for n in _halves(job.batch) if replace(smaller[-1], batch=n).need <= free), None)
    fewer = f"use --batch-size {batch}" if batch else "use fewer texts or a smaller encoder"
    raise SubtaxaError(
        f"about {gigabytes(job.need)} of memory are needed for {job.texts:,} texts and batches of {job.batch}, "
        f"but {gigabytes(free)} are free: {fewer}, or close other programs"
    )


def _halves(number: int, least: int = 1) -> Iterator[int]:
    """The powers of two below a number, the largest first."""
    power = 1 << max(0, number - 1).bit_length()
    while (power := power // 2) >= least:
        yield power
