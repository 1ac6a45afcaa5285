"""WSCL, weighted self-contrastive learning (An et al., EMNLP 2022): a text's own shallow feature is its positive.

As in the authors' code, the negatives are the shallow and deep features of the batch's other texts and the momentum
encoder's deep features in the queue of the query's class; each kind has its own denominator, without the positive; the
features of both depths pass through one dense layer with tanh; there is no pretraining. Our choices: the encoder's own
feature is evaluated, so the dense layer starts as the identity and has no dropout; each depth has its own linear
classifier (theirs share one); the momentum encoder follows every trained layer and the dense layer; queues are filled
before the first epoch. If the shallow layer is frozen, its feature has no gradient.
B texts in a batch, C coarse labels, Q rows in a queue, D dimensions.
"""

from __future__ import annotations

import copy
import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData, coarse_head, coarse_loss, dense_tanh, labels_of
from subtaxa.training.class_queue import ClassQueue, RingMethod, scores_within
from subtaxa.training.momentum import update_momentum

# The number of rows in the queue of a coarse label, Q.
RING = 64

# The weights of a negative with the query's coarse label and of one with another label.
SAME, OTHER = 1.0, 1.4

# The weights of the shallow classifier's loss and of the contrast.
SHALLOW_WEIGHT, CONTRAST_WEIGHT = 0.001, 0.008


def shallow_layer(depth: int) -> int:
    """The layer whose feature is the positive: two thirds up, the 8th of 12."""
    return round(2 * depth / 3)


def weighted_self_contrast(
    deep: Tensor, shallow: Tensor, labels: Tensor, rows: Tensor, filled: Tensor, temperature: float
) -> Tensor:
    """The contrast of deep features (B, D) with the shallow features (B, D) of the same texts, all unit length.

    There are three kinds of weighted negatives: the shallow features of the other texts, their deep features, and the
    filled (C, Q) rows (C, Q, D) of the query's label.
    """
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)  # (B, B)
    same = labels[:, None] == labels  # (B, B)
    to_shallow = deep @ shallow.T / temperature  # (B, B), the positives on its diagonal
    to_deep = deep @ deep.T / temperature  # (B, B)
    weights = torch.full_like(to_deep, math.log(OTHER)).masked_fill(same, math.log(SAME))  # (B, B) logarithms
    weights = weights.masked_fill(itself, -torch.inf)
    to_ring = scores_within(deep, labels, rows, filled) / temperature + math.log(SAME)  # (B, Q)
    negatives = sum(_log_sum(scores) for scores in (to_shallow + weights, to_deep + weights, to_ring))  # (B,)
    return (negatives - to_shallow.diagonal()).mean()


def _log_sum(scores: Tensor) -> Tensor:
    """log Σ exp of each row (B, n), or 0 where all scores are −inf."""
    empty = (scores == -torch.inf).all(1)  # (B,)
    return scores.masked_fill(empty[:, None], 0.0).logsumexp(1).masked_fill(empty, 0.0)


class WSCL(RingMethod):
    """WSCL: coarse cross-entropy, plus contrast of each text with its own feature two thirds up the encoder."""

    defaults: ClassVar = {"pretrain_epochs": 0, "temperature": 0.1, "momentum": 0.9, "augment": "none"}
    random_batches: ClassVar[bool] = True

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.layer = shallow_layer(encoder.n_layers)
        self.head, self.shallow_head = coarse_head(encoder, data), coarse_head(encoder, data)
        self.dense = dense_tanh(encoder.dimensions)
        self.momentum_tower = encoder.momentum_copy()
        self.momentum_dense = copy.deepcopy(self.dense).requires_grad_(False)
        self.queue = ClassQueue.for_labels(data.labels, data.n_labels, RING, encoder.dimensions)

    def modules(self) -> dict[str, nn.Module]:
        return {
            "tower": self.tower,
            "head": self.head,
            "shallow_head": self.shallow_head,
            "dense": self.dense,
            "momentum": self.momentum_tower,
            "momentum_dense": self.momentum_dense,
        }

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        pooled = self.tower(*self.encoder.inputs(self._view(batch)), layer=self.layer)
        shallow, deep = (self.dense(features) for features in pooled)  # (B, D) each
        contrast = weighted_self_contrast(
            F.normalize(deep, dim=1),
            F.normalize(shallow, dim=1),
            labels_of(self.data, batch),
            self.queue.rows,
            self.queue.filled,
            self.settings.temperature,
        )
        return {
            "coarse": coarse_loss(self.head, deep, self.data, batch),
            "shallow": SHALLOW_WEIGHT * coarse_loss(self.shallow_head, shallow, self.data, batch),
            "contrast": CONTRAST_WEIGHT * contrast,
        }

    def after_step(self, batch: Batch) -> None:
        """Update the momentum encoder, then write its features of the batch to the rings."""
        update_momentum(self.momentum_tower, self.encoder.tower, self.settings.momentum)
        update_momentum(self.momentum_dense, self.dense, self.settings.momentum)
        self.enqueue(batch, self.keys(batch))

    @torch.no_grad()
    def keys(self, batch: Batch) -> Tensor:
        """The momentum encoder's deep unit features (B, D)."""
        return F.normalize(self.momentum_dense(self.momentum_tower(*self.encoder.inputs(batch))), dim=1)


VARIANTS = {"wscl": WSCL}
