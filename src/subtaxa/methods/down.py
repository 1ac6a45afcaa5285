"""DOWN (by the authors of DNA, 2024): there are no filters; every neighbour is a positive, weighted by its rank.

The weights b^(−rank/k) are sharp at first, when distant neighbours are unreliable, and flatter in each quarter of the
epochs. As in the authors' code, k + 1 rows are retrieved, including the text itself. Pretraining adds a
masked-language-model loss to coarse cross-entropy (mlm.py). Everything else is as in DNA.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from subtaxa.methods.dna import DNA
from subtaxa.training.losses import rank_weights

# The base b in each quarter of the epochs.
BASES = (150.0, 10.0, 5.0, 2.0)


def base_at(epoch: int, epochs: int) -> float:
    """The base b of an epoch."""
    return BASES[min(len(BASES) - 1, len(BASES) * epoch // max(1, epochs))]


class DOWN(DNA):
    """DOWN: DNA with all k neighbours weighted by rank instead of filtered."""

    pretraining: ClassVar[str] = "bert+ce+mlm"
    filters: ClassVar[tuple[str, ...]] = ()

    @property
    def n_retrieved(self) -> int:
        return self.k + 1

    def weigh(self, kept: Tensor, epoch: int) -> Tensor:
        n = kept.shape[1]
        base = base_at(epoch, int(self.settings.epochs))
        return kept * rank_weights(n, base, kept.device, max(1, n - 1))  # (N, k + 1)


VARIANTS = {"down": DOWN}
