"""ANCOR (Bukchin et al., CVPR 2021): momentum contrast inside each coarse class, on angles from the class's weight.

Two views of a text are contrasted with the other texts of their coarse label, while the coarse cross-entropy separates
the labels. Because the contrast uses the angle from the classifier's weight, one feature can serve both aims. As in the
authors' code, an MLP projects to 128 dimensions, the contrast does not train the classifier's weight, and the batch
provides no negatives. Our choices: the classifier sees the projected feature itself (the authors add a ReLU); the
queues are much shorter (theirs hold 65,536 images) and are filled before the first epoch (theirs start with random
rows); there is no pretraining on the coarse labels, because they are part of the objective.
B texts in a batch, C coarse labels, Q rows in a queue, D dimensions, P projected dimensions.
"""

from __future__ import annotations

import copy
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData, coarse_head, coarse_loss, labels_of
from subtaxa.training.class_queue import ClassQueue, RingMethod, scores_within
from subtaxa.training.momentum import update_momentum

# The number of projected dimensions, P.
PROJECTED = 128

# The number of rows in the queue of a coarse label, Q.
RING = 128


def angles(features: Tensor, anchors: Tensor) -> Tensor:
    """Unit vectors (..., P) from the anchors' directions to the features' directions, 0 where both are the same."""
    difference = F.normalize(features, dim=-1) - F.normalize(anchors, dim=-1)
    return F.normalize(difference, dim=-1, eps=1e-6)  # Smaller differences are rounding errors.


def angular_nce(
    queries: Tensor, keys: Tensor, labels: Tensor, weights: Tensor, rows: Tensor, filled: Tensor, temperature: float
) -> Tensor:
    """InfoNCE between the angles of queries and keys (B, P) from the weights (C, P) of their labels (B,).

    The negatives are the filled (C, Q) rows (C, Q, P) of the same label.
    """
    own = weights[labels]  # (B, P)
    queries, keys = angles(queries, own), angles(keys, own)  # (B, P)
    positive = (queries * keys).sum(1, keepdim=True)  # (B, 1)
    negative = scores_within(queries, labels, angles(rows, weights[:, None]), filled)  # (B, Q)
    logits = torch.cat([positive, negative], 1) / temperature  # (B, 1 + Q)
    return F.cross_entropy(logits, torch.zeros_like(labels))


class Ancor(RingMethod):
    """ANCOR: momentum contrast of angles inside each coarse label, plus coarse cross-entropy on a projection."""

    defaults: ClassVar = {"pretrain_epochs": 0, "temperature": 0.2, "momentum": 0.999, "coarse_weight": 0.0}

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        width = encoder.dimensions
        self.projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, PROJECTED))
        self.classifier = nn.Linear(PROJECTED, data.n_labels)
        self.head = coarse_head(encoder, data)  # This head is used by "+CE" only.
        self.momentum_tower = encoder.momentum_copy()
        self.momentum_projection = copy.deepcopy(self.projection).requires_grad_(False)
        self.queue = ClassQueue.for_labels(data.labels, data.n_labels, RING, PROJECTED)

    def modules(self) -> dict[str, nn.Module]:
        return {
            "tower": self.tower,
            "projection": self.projection,
            "classifier": self.classifier,
            "head": self.head,
            "momentum": self.momentum_tower,
            "momentum_projection": self.momentum_projection,
        }

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        labels = labels_of(self.data, batch)  # (B,)
        pooled = self.query(batch)  # (B, D)
        projected = self.projection(pooled)  # (B, P)
        self.latest = self.keys(batch)  # (B, P), written to the rings after the step
        contrast = angular_nce(
            projected,
            self.latest,
            labels,
            self.classifier.weight.detach(),
            self.queue.rows,
            self.queue.filled,
            self.settings.temperature,
        )
        parts = {"contrast": contrast, "projected_coarse": F.cross_entropy(self.classifier(projected), labels)}
        if self.settings.coarse_weight:
            parts["coarse"] = self.settings.coarse_weight * coarse_loss(self.head, pooled, self.data, batch)
        return parts

    def after_step(self, batch: Batch) -> None:
        """Write the keys to the rings and update the momentum encoder."""
        self.enqueue(batch, self.latest)
        update_momentum(self.momentum_tower, self.encoder.tower, self.settings.momentum)
        update_momentum(self.momentum_projection, self.projection, self.settings.momentum)

    @torch.no_grad()
    def keys(self, batch: Batch) -> Tensor:
        """The momentum encoder's projected unit features (B, P) of another view of the batch."""
        pooled = self.momentum_tower(*self.encoder.inputs(self._view(batch)))  # (B, D)
        return F.normalize(self.momentum_projection(pooled), dim=1)


class AncorCE(Ancor):
    """ANCOR plus coarse cross-entropy on the encoder's output."""

    defaults: ClassVar = Ancor.defaults | {"coarse_weight": 1.0}


VARIANTS = {"ancor": Ancor, "ancor+ce": AncorCE}
