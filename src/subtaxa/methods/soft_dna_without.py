"""The ablation of the default method: each class removes or changes one part.

Parts that are settings need no class here: `--trained-layers 2`, `--augment none`, `--augment-rate 0.25` and so on.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.filters import label_filter
from subtaxa.clustering.neighbours import Neighbours, retrieve
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.training.momentum import update_momentum


class WithoutWeights(SoftDNA):
    """The default with every kept neighbour counting the same."""

    def fade(self, epoch: int) -> float:
        return 1.0


class WithoutFlattening(SoftDNA):
    """The default with weights as sharp in all epochs as in the first."""

    def fade(self, epoch: int) -> float:
        return super().fade(0)


class WithoutWords(SoftDNA):
    """The default with texts compared by their features alone."""

    def weigh_words(self, epoch: int) -> float:
        return 0.0


class WithoutSettling(SoftDNA):
    """The default with neighbours to the end."""

    def settling(self, epoch: int) -> bool:
        return False


class WithoutEvenness(SoftDNA):
    """The default that trains as if categories were never of one size."""

    def find(self) -> Clusters | None:
        return None


class WithoutReciprocity(SoftDNA):
    """The default without the reciprocal filter."""

    def trust(self, neighbours: Neighbours) -> Tensor:
        return neighbours.valid


class WithoutSearchInside(SoftDNA):
    """The default with neighbours from the whole queue, then the label filter, as in DNA."""

    def retrieve(self) -> Neighbours:
        rows = self.compared()
        found = retrieve(rows, rows, self.k)
        return Neighbours(found.indices, found.valid & label_filter(found.indices, self.data.labels))


class WithoutRefresh(SoftDNA):
    """The default without reading all texts anew before each epoch.

    The queue's rows are then of views, and up to an epoch old."""

    def refresh(self, epoch: int) -> None:
        if epoch == 0:
            super().refresh(epoch)
        else:
            self.fill(self.queue.rows.clone(), epoch)


class WithMomentum(SoftDNA):
    """The default with DNA's momentum encoder, which writes the queue."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.momentum_tower = encoder.momentum_copy()

    def modules(self) -> dict[str, torch.nn.Module]:
        return {**super().modules(), "momentum": self.momentum_tower}

    def refresh(self, epoch: int) -> None:
        self.fill(self.encoder.features(self.data.tokens, self.momentum_tower), epoch)

    @torch.no_grad()
    def after_step(self, batch: Batch) -> None:
        update_momentum(self.momentum_tower, self.encoder.tower, self.settings.momentum)
        keys = F.normalize(self.momentum_tower(*self.encoder.inputs(batch)), dim=1)  # (B, D)
        self.queue.write(self.gather(batch.index), self.gather(keys))


VARIANTS = {
    "soft-dna-equal-weights": WithoutWeights,
    "soft-dna-sharp-weights": WithoutFlattening,
    "soft-dna-no-words": WithoutWords,
    "soft-dna-no-settling": WithoutSettling,
    "soft-dna-uneven": WithoutEvenness,
    "soft-dna-one-sided": WithoutReciprocity,
    "soft-dna-whole-queue": WithoutSearchInside,
    "soft-dna-no-refresh": WithoutRefresh,
    "soft-dna-momentum": WithMomentum,
}
