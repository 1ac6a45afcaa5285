"""SimCSE (EMNLP 2021): InfoNCE between two passes of the same text that differ only in their dropout masks.

The other texts of the batch are the negatives. As in the authors' code, a dense layer with tanh is used in training
only, and the encoder's feature is evaluated. Where lower layers are frozen and cached, only the trained layers have
dropout. Our reading of the paper's table: no variant is pretrained on the coarse labels; "simcse" never sees them, and
"simcse+ce" adds coarse cross-entropy to the loss. B texts in a batch, D dimensions.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, TrainingData, coarse_head, coarse_loss
from subtaxa.training.losses import info_nce


class SimCSE(Method):
    """SimCSE: contrast of each text with itself under another dropout mask."""

    defaults: ClassVar = {"augment": "none", "temperature": 0.05, "coarse_weight": 0.0, "pretrain_epochs": 0}
    random_batches: ClassVar[bool] = True

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.head = coarse_head(encoder, data)
        self.projection = nn.Sequential(nn.Linear(encoder.dimensions, encoder.dimensions), nn.Tanh())

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "head": self.head, "projection": self.projection}

    def both(self, batch: Batch) -> Tensor:
        """Pooled features (2B, D) of the texts and then of their views, if possible in one pass."""
        texts, views = self.encoder.inputs(batch), self.encoder.inputs(self._view(batch))
        if texts[1].shape != views[1].shape:  # Shortened views have fewer tokens, so they need a second pass.
            return torch.cat([self.tower(*texts), self.tower(*views)])
        return self.tower(*(torch.cat(pair) for pair in zip(texts, views, strict=True)))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        pooled = self.both(batch)  # (2B, D)
        queries, keys = F.normalize(self.projection(pooled), dim=1).chunk(2)  # (B, D) each
        parts = {"contrastive": info_nce(queries, keys, self.settings.temperature)}
        if self.settings.coarse_weight:
            coarse = coarse_loss(self.head, pooled[: len(queries)], self.data, batch)
            parts["coarse"] = self.settings.coarse_weight * coarse
        return parts


class SimCSECE(SimCSE):
    """SimCSE plus coarse cross-entropy."""

    defaults: ClassVar = SimCSE.defaults | {"coarse_weight": 1.0}


VARIANTS = {"simcse": SimCSE, "simcse+ce": SimCSECE}
