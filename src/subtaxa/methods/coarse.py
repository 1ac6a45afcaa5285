"""Coarse cross-entropy alone: DNA's pretraining, and the row "BERT+CE" of the paper's table."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoder import Encoder
from subtaxa.methods.base import Method, TrainingData, coarse_head, labels_of
from subtaxa.tokens import Batch


class Coarse(Method):
    """Cross-entropy on the coarse labels alone; the best epoch on held-out texts is kept."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.head = coarse_head(encoder, data)
        order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
        held = max(1, round(len(data) * self.settings.pretrain_holdout))
        self.held_out, self.trained = order[:held], order[held:]

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "head": self.head}

    def training_subset(self) -> Tensor:
        return self.trained

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        pooled = self.tower(*self.encoder.inputs(batch))  # (B, D)
        return {"coarse": F.cross_entropy(self.head(pooled), labels_of(self.data, batch))}

    @torch.no_grad()
    def score(self) -> float:
        """Accuracy of the coarse label on the held-out texts."""
        self.encoder.pipeline.eval()
        right = 0
        for index in self.held_out.split(256):
            batch = self.data.tokens.batch(index)
            logits = self.head(self.tower(*self.encoder.inputs(batch)))  # (B, C)
            right += int((logits.argmax(1) == labels_of(self.data, batch)).sum())
        return right / len(self.held_out)


VARIANTS = {"coarse": Coarse}
