"""NNCL, also known as NNCLR (ICCV 2021): the nearest neighbour of one view is contrasted with the other view.

The loss is symmetric InfoNCE with the rest of the batch as negatives. NNCL is also the first row of the DNA paper's
ablation, so its other parts follow DNA: the support queue has one row per training text and is refreshed before each
epoch (a text's own row is never its neighbour), τ is 0.07 (NNCLR: 0.1), and there is no projection or prediction head.
There is no momentum encoder: the features of the second view become the batch's rows of the queue.
N texts, B texts in a batch, D dimensions.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, TrainingData
from subtaxa.training.feature_queue import FeatureQueue
from subtaxa.training.losses import info_nce


@torch.no_grad()
def nearest_other(features: Tensor, queue: Tensor, own: Tensor) -> Tensor:
    """The row of the queue (N, D) that is most similar to each unit feature (B, D), except its own row (B,)."""
    similarity = features @ queue.T  # (B, N)
    similarity.scatter_(1, own[:, None], -torch.inf)
    return queue[similarity.argmax(1)]  # (B, D)


class NNCL(Method):
    """NNCL: contrast of the nearest neighbour of one view with the other view."""

    defaults: ClassVar = {"temperature": 0.07}
    random_batches: ClassVar[bool] = True

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.queue = FeatureQueue(torch.zeros(len(data), encoder.dimensions, device=encoder.device))

    def state(self) -> dict[str, Tensor]:
        return {"queue": self.queue.rows}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.queue.refresh(state["queue"])

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        self.queue.refresh(self.encoder.features(self.data.tokens))
        return {}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        twice = self.encoder.batch(self.data.tokens, batch.index.repeat(2))
        views = F.normalize(self.query(twice), dim=1)  # (2B, D)
        first, second = views.chunk(2)  # (B, D) each
        near_first, near_second = nearest_other(views, self.queue.rows, twice.index).chunk(2)
        self.latest = second.detach()  # written to the queue after the step
        tau = self.settings.temperature
        return {"contrastive": (info_nce(near_first, second, tau) + info_nce(near_second, first, tau)) / 2}

    def after_step(self, batch: Batch) -> None:
        self.queue.write(self.gather(batch.index), self.gather(self.latest))


VARIANTS = {"nncl": NNCL}
