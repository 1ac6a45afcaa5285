"""The default: DNA with soft weights in place of hard trust, for an encoder that already knows sentences.

The changes, each measured in docs/default.md. Neighbours are sought inside the coarse label only, so all k places go
to candidates that the label filter would keep. Kept neighbours are weighted by rank (as in DOWN): sharply at first,
when far neighbours are unreliable, and flatter as the neighbourhoods get cleaner. The rank filter is off: identical
top-m sets hardly occur in mean-pooled features. The default preset also leaves out the coarse cross-entropy: pushing
the labels apart hides whether a label is one category or several.
"""

from __future__ import annotations

from torch import Tensor

from subtaxa.losses import rank_weights
from subtaxa.methods.dna import DNA
from subtaxa.neighbours import Neighbours, retrieve_within

BASES = (150.0, 10.0, 5.0, 2.0)  # DOWN's, one for each quarter of the epochs


class SoftDNA(DNA):
    """DNA with neighbours from the same label only, weighted by rank; for sentence encoders."""

    def retrieve(self, queries: Tensor) -> Neighbours:
        return retrieve_within(queries, self.queue.rows, self.data.labels, self.k)

    def weigh(self, kept: Tensor, epoch: int) -> Tensor:
        base = BASES[min(len(BASES) - 1, len(BASES) * epoch // max(1, self.settings.epochs))]
        return kept * rank_weights(kept.shape[1], base)  # (N, k)


VARIANTS = {"soft-dna": SoftDNA}
