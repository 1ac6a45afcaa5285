"""DNA, Denoised Neighborhood Aggregation (EMNLP 2023), exactly as in the paper.

E-step: refresh the queue, retrieve k neighbours of each text, and filter them by label, reciprocity and rank.
M-step: train for an epoch, pulling each text to its kept neighbours and away from the rest of the queue.
N texts, B texts in a batch, D dimensions, k neighbours.
"""

from __future__ import annotations

import time
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter, survival
from subtaxa.clustering.neighbours import Neighbours, retrieve
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData, coarse_head, coarse_loss
from subtaxa.training.feature_queue import QueueMethod
from subtaxa.training.losses import multi_positive_nce
from subtaxa.training.momentum import update_momentum


class DNA(QueueMethod):
    """DNA as in the paper: neighbours from all texts, denoised by the label, reciprocal and rank filters."""

    defaults: ClassVar = {
        "coarse_weight": 1.0,
        "temperature": 0.07,
        "momentum": 0.99,
        "rank_top_m": 5,
        "rank_epochs": 1,
    }
    filters: ClassVar[tuple[str, ...]] = ("label", "reciprocal", "rank")

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.head: nn.Module = coarse_head(encoder, data)
        self.momentum_tower = encoder.momentum_copy()

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "head": self.head, "momentum": self.momentum_tower}

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """The E-step."""
        queries = self.refresh(epoch)  # (N, D)
        started = time.perf_counter()
        neighbours = self.retrieve(queries)
        stages = self.filter(neighbours, queries, epoch)
        kept = list(stages.values())[-1]  # (N, k)
        self.positives, self.weights = neighbours.indices, self.weigh(kept, epoch)
        self.mined = neighbours.indices, stages
        return {
            "kept": float(kept.sum(1).float().mean()),
            **survival(stages),
            "retrieval_seconds": time.perf_counter() - started,
        }

    def refresh(self, epoch: int) -> Tensor:
        """Replace every row of the queue by the momentum encoder's features, and return the queries (N, D)."""
        self.queue.refresh(self.encoder.features(self.data.tokens, self.momentum_tower))
        return self.queue.rows if epoch == 0 else self.encoder.features(self.data.tokens)

    def retrieve(self, queries: Tensor) -> Neighbours:
        return retrieve(queries, self.queue.rows, self.n_retrieved)

    def filter(self, neighbours: Neighbours, queries: Tensor, epoch: int) -> dict[str, Tensor]:
        """The mask (N, k) after each filter, in order. The last one is the kept set S. A text always keeps itself."""
        indices, kept = neighbours.indices, neighbours.valid
        stages = {"knn": kept}
        if "label" in self.filters:
            stages["label"] = kept = kept & label_filter(indices, self.data.labels)
        if "reciprocal" in self.filters:
            stages["reciprocal"] = kept = kept & self.reciprocal(neighbours, kept)
        if "rank" in self.filters and epoch < self.settings.rank_epochs:
            own = indices == torch.arange(len(indices), device=indices.device)[:, None]
            same = rank_filter(queries, self.queue.rows, indices, min(self.settings.rank_top_m, queries.shape[1]))
            stages["rank"] = kept & (same | own)
        return stages

    def reciprocal(self, neighbours: Neighbours, kept: Tensor) -> Tensor:
        """The reciprocal filter (N, k), applied to the lists after the label filter, as in the paper."""
        return reciprocal_filter(neighbours.indices, kept, self.data.labels if "label" in self.filters else None)

    def weigh(self, kept: Tensor, epoch: int) -> Tensor:
        """The weights (N, k) of the neighbours: all kept neighbours have the same."""
        return kept.float()

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The objective of the M-step: the two parts of L_DNA, plus coarse cross-entropy."""
        pooled = self.query(batch)  # (B, D)
        parts = self.contrast(F.normalize(pooled, dim=1), batch)
        if self.settings.coarse_weight:
            parts["coarse"] = self.settings.coarse_weight * coarse_loss(self.head, pooled, self.data, batch)
        return parts

    def contrast(self, queries: Tensor, batch: Batch) -> dict[str, Tensor]:
        """L_DNA of the unit queries (B, D)."""
        alignment, uniformity = multi_positive_nce(
            queries, self.queue.rows, self.positives[batch.index], self.weights[batch.index], self.settings.temperature
        )
        return {"alignment": alignment, "uniformity": uniformity}

    @torch.no_grad()
    def after_step(self, batch: Batch) -> None:
        """Update the momentum encoder, then the batch's rows of the queue with its features."""
        update_momentum(self.momentum_tower, self.encoder.tower, self.settings.momentum)
        keys = F.normalize(self.momentum_tower(*self.encoder.inputs(batch)), dim=1)  # (B, D)
        self.queue.write(self.gather(batch.index), self.gather(keys))


VARIANTS = {"dna": DNA}
