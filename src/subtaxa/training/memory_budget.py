"""The memory budget of a fit: how much it requires, how much is free, and how it adapts when memory is short.

The constants give upper bounds. docs/explanation/reliability.md compares them with measured fits.
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

# The bytes of a float32.
FLOAT = 4

# The copies of all features that exist at once: untrained, queue, comparison, result, sorted and in the caller's order.
COPIES = 6

# The bytes per text and neighbour while the reciprocal filter runs.
PAIR = 32

# The numbers per token, dimension and layer that are kept for the backward pass.
ACTIVATION = 25

# The largest number of bytes for the similarities of a batch to all texts.
LOGITS = 3 * 2**27

# The factor for everything that is not counted here.
MARGIN = 1.25

# The smallest number of tokens that are encoded at once when memory is short.
MIN_CHUNK = 64


@dataclass(frozen=True)
class Sizes:
    """The sizes on which the memory of a fit depends."""

    texts: int
    dimensions: int
    neighbours: int
    categories: int
    weights: int  # number of trained weights
    layers: int  # number of trained layers
    width: int  # inner width of a layer
    tokens: int  # length of the longest augmented text
    batch: int
    chunk: int  # number of tokens that are encoded at once

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
    def required_bytes(self) -> int:
        """The largest number of bytes that the fit will use at once, in addition to those in use already."""
        features = self.texts * (COPIES * self.dimensions * FLOAT + self.neighbours * PAIR)
        encoding = self.chunk * (2 * self.width + 8 * self.dimensions) * FLOAT
        step = self.batch * self.tokens * self.layers * self.dimensions * ACTIVATION * FLOAT
        step += min(LOGITS, 3 * self.batch * self.texts * FLOAT)
        # Gradients, both moments of the optimiser and a momentum encoder. Saving them takes the same once more.
        state = self.weights * FLOAT * 4
        clustering = self.texts * self.categories * 2 * FLOAT
        return int(MARGIN * (features + max(state + max(encoding, step, state), clustering)))


def fit_into_memory(sizes: Sizes, progress: Progress) -> Sizes:
    """The sizes, with a smaller chunk if memory is short. If no chunk fits, an error names a batch size that would."""
    free = available()
    candidates = [sizes, *(replace(sizes, chunk=chunk) for chunk in _halves(sizes.chunk, MIN_CHUNK))]
    for candidate in candidates:
        if candidate.required_bytes <= free:
            if candidate is not sizes:
                progress.say(
                    f"memory is short ({gigabytes(free)} free): encoding only {candidate.chunk} tokens at a time"
                )
            return candidate
    batch = next((n for n in _halves(sizes.batch) if replace(candidates[-1], batch=n).required_bytes <= free), None)
    advice = f"use --batch-size {batch}" if batch else "use fewer texts or a smaller encoder"
    required = gigabytes(sizes.required_bytes)
    raise SubtaxaError(
        f"{sizes.texts:,} texts and batches of {sizes.batch} require about {required} of memory, "
        f"but {gigabytes(free)} are free: {advice}, or close other programs"
    )


def _halves(number: int, smallest: int = 1) -> Iterator[int]:
    """The powers of two below a number, the largest first."""
    power = 1 << max(0, number - 1).bit_length()
    while (power := power // 2) >= smallest:
        yield power
