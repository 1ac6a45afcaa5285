"""Ablations of the default method. Each class removes or changes one part.

Parts that are settings need no class here: use `--trained-layers 2`, `--augment none`, `--augment-rate 0.25` and so on.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.clustering.filters import label_filter
from subtaxa.clustering.neighbours import Neighbours, retrieve
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.training.momentum import update_momentum


class WithEqualWeights(SoftDNA):
    """The default with equal weights for all kept neighbours."""

    def rank_weights(self, k: int) -> Tensor:
        return torch.ones(k)


class WithoutLexicalFeatures(SoftDNA):
    """The default without lexical features: texts are compared by the encoder's features alone."""

    def choose_lexical_weight(self, epoch: int) -> float:
        return 0.0


class WithoutReciprocity(SoftDNA):
    """The default without the reciprocal filter."""

    def reciprocal_mask(self, neighbours: Neighbours) -> Tensor:
        return neighbours.valid


class WithWholeQueue(SoftDNA):
    """The default with neighbours from all texts and then the label filter, as in DNA."""

    def retrieve(self) -> Neighbours:
        rows = self.comparison_features()
        found = retrieve(rows, rows, self.k)
        return Neighbours(found.indices, found.valid & label_filter(found.indices, self.data.labels))


class WithoutRefresh(SoftDNA):
    """The default without encoding all texts before each epoch: features in the queue are up to an epoch old."""

    def refresh(self, epoch: int) -> None:
        if epoch == 0:
            super().refresh(epoch)
        else:
            self.fill(self.queue.rows.clone(), epoch)


class WithMomentum(SoftDNA):
    """The default with DNA's momentum encoder, whose features fill the queue."""

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
    "soft-dna-equal-weights": WithEqualWeights,
    "soft-dna-no-words": WithoutLexicalFeatures,
    "soft-dna-one-sided": WithoutReciprocity,
    "soft-dna-whole-queue": WithWholeQueue,
    "soft-dna-no-refresh": WithoutRefresh,
    "soft-dna-momentum": WithMomentum,
}
