"""The rows "BERT" and "BERT+CE" of the paper's table: the untrained encoder, and coarse cross-entropy alone.

Every method should beat the first. The second is also the pretraining of the other methods. The paper and the released
code use BERT; here the encoder is a setting.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, TrainingData, coarse_head, coarse_loss, labels_of


class Bert(Method):
    """The encoder without any training."""

    defaults: ClassVar = {"pretrain_epochs": 0}

    def training_subset(self) -> Tensor:
        return self.data.labels.new_empty(0)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        return {"none": self.query(batch).sum() * 0.0}


class BertCE(Method):
    """Coarse cross-entropy alone; keeps the epoch with the best accuracy on held-out texts."""

    defaults: ClassVar = {"pretrain_epochs": 0}

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.head = self.classifier()
        order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
        n_held_out = max(1, round(len(data) * self.settings.pretrain_holdout))
        self.held_out, self.trained = order[:n_held_out], order[n_held_out:]

    def classifier(self) -> nn.Module:
        """A new classifier of the coarse labels."""
        return coarse_head(self.encoder, self.data)

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "head": self.head}

    def training_subset(self) -> Tensor:
        return self.trained

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        pooled = self.tower(*self.encoder.inputs(batch))  # (B, D)
        return {"coarse": coarse_loss(self.head, pooled, self.data, batch)}

    @torch.no_grad()
    def score(self) -> float:
        """The accuracy of the coarse labels on the held-out texts."""
        self.encoder.eval()
        self.tower.eval()
        self.head.eval()
        correct = 0
        for index in self.held_out.split(256):
            batch = self.encoder.batch(self.data.tokens, index)
            logits = self.head(self.tower(*self.encoder.inputs(batch)))  # (B, C)
            correct += int((logits.argmax(1) == labels_of(self.data, batch)).sum())
        self.head.train()
        return correct / len(self.held_out)


VARIANTS = {"bert": Bert, "bert+ce": BertCE}
