"""DOWN (the DNA authors' later work, 2024): no filters; every neighbour is a positive, weighted by its rank.

The weights b^(−rank/k) are sharp at first, when far neighbours are unreliable, and flatter in each quarter of the
epochs. Its pretraining adds a masked-language-model loss to the coarse cross-entropy (mlm.py). All else is as in DNA.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from subtaxa.methods.dna import DNA
from subtaxa.training.losses import rank_weights

BASES = (150.0, 10.0, 5.0, 2.0)  # b, one for each quarter of the epochs


def base_at(epoch: int, epochs: int) -> float:
    """The b of an epoch."""
    return BASES[min(len(BASES) - 1, len(BASES) * epoch // max(1, epochs))]


class DOWN(DNA):
    """DOWN: all k neighbours, weighted by their rank in place of the filters."""

    pretraining: ClassVar[str] = "bert+ce+mlm"
    filters: ClassVar[tuple[str, ...]] = ()

    def weigh(self, kept: Tensor, epoch: int) -> Tensor:
        return kept * rank_weights(kept.shape[1], base_at(epoch, int(self.settings.epochs)))  # (N, k)


VARIANTS = {"down": DOWN}
