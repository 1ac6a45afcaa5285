"""The default: DNA with soft weights in place of hard trust, for an encoder that already knows sentences.

The changes, each measured in docs/default.md. Neighbours are sought inside the coarse label only, so all k places go
to candidates that the label filter would keep. Kept neighbours are weighted by rank (as in DOWN): sharply at first,
when far neighbours are unreliable, and flatter as the neighbourhoods get cleaner. The rank filter is off: identical
top-m sets hardly occur in mean-pooled features. The default preset also leaves out the coarse cross-entropy: pushing
the labels apart hides whether a label is one category or several.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from subtaxa.methods.down import DOWN
from subtaxa.neighbours import Neighbours, retrieve_within


class SoftDNA(DOWN):
    """DNA with neighbours from the same label only, weighted by rank; for sentence encoders."""

    own: ClassVar = {"neighbours": "auto"}  # the rest is the default preset's
    pretraining: ClassVar[str] = "bert+ce"
    filters: ClassVar[tuple[str, ...]] = ("label", "reciprocal", "rank")

    def retrieve(self, queries: Tensor) -> Neighbours:
        return retrieve_within(queries, self.queue.rows, self.data.labels, self.k)


VARIANTS = {"soft-dna": SoftDNA}
