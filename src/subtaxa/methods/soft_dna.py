"""The default: DNA with soft weights in place of hard trust, for an encoder that already knows sentences.

E-step: compute all features, retrieve neighbours, keep the reciprocal ones. M-step: an epoch of pulling each text to
them and away from the rest. What differs from DNA, with what each part is worth, is in docs/default.md:
- neighbours are sought inside the coarse label only, so no place goes to a text that the label filter would remove;
- kept neighbours are weighted by rank (as in DOWN), sharply at first and flatter as they get cleaner;
- there is no momentum encoder, coarse cross-entropy or rank filter: the queue holds the encoder's own features, and
  the time goes into training every layer;
- the views are really shorter than the texts, which also makes them cheap.

N texts, B texts in a batch, D dimensions, k neighbours.
"""

from __future__ import annotations

import time
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from subtaxa.feature_queue import QueueMethod
from subtaxa.filters import reciprocal_filter, survival
from subtaxa.losses import multi_positive_nce, rank_weights
from subtaxa.methods.down import base_at
from subtaxa.neighbours import Neighbours, retrieve_within
from subtaxa.tokens import Batch


class SoftDNA(QueueMethod):
    """DNA with neighbours of the same label, weighted by rank, and every layer trained; for sentence encoders."""

    own: ClassVar = {
        "trained_layers": "auto",
        "max_tokens": 160,
        "epochs": "auto",
        "learning_rate": 2e-4,
        "view": "shorten",
        "view_rate": 0.4,
        "view_tokens": 128,
        "neighbours": "auto",
    }

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """The E-step."""
        self.refresh(epoch)
        begun = time.perf_counter()
        neighbours = self.retrieve()
        kept = self.trust(neighbours)  # (N, k)
        fade = rank_weights(kept.shape[1], self.fade(epoch)).to(kept.device)  # (k,)
        self.positives, self.weights = neighbours.indices, kept * fade
        stages = {"label": neighbours.valid, "reciprocal": kept}
        self.mined = neighbours.indices, stages
        return {
            "k": self.k,
            "kept": float(kept.sum(1).float().mean()),
            **survival(stages),
            "retrieval_seconds": time.perf_counter() - begun,
        }

    def refresh(self, epoch: int) -> None:
        """The queue takes the features of all texts as they are, not of views."""
        known = self.data.untrained if epoch == 0 else None
        self.fill(self.encoder.features(self.data.tokens) if known is None else known, epoch)

    def retrieve(self) -> Neighbours:
        return retrieve_within(self.queue.rows, self.queue.rows, self.data.labels, self.k)

    def trust(self, neighbours: Neighbours) -> Tensor:
        """The pairs (N, k) that name each other."""
        return reciprocal_filter(neighbours.indices, neighbours.valid)

    def fade(self, epoch: int) -> float:
        """The last of k neighbours counts one in this many times as much as the first."""
        return base_at(epoch, int(self.settings.epochs))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The M-step: towards the neighbours and away from the queue, which then takes the batch's features."""
        queries = F.normalize(self.query(batch), dim=1)  # (B, D)
        self.latest = queries.detach()
        alignment, uniformity = multi_positive_nce(
            queries, self.queue.rows, self.positives[batch.index], self.weights[batch.index], self.settings.temperature
        )
        return {"alignment": alignment, "uniformity": uniformity}

    def after_step(self, batch: Batch) -> None:
        self.queue.write(self.gather(batch.index), self.gather(self.latest))


VARIANTS = {"soft-dna": SoftDNA}
