"""The default: DNA with soft weights in place of hard trust, for an encoder that already knows sentences.

E-step: compute all features, retrieve neighbours, keep the reciprocal ones. M-step: an epoch of pulling each text to
them and away from the rest. What differs from DNA, with what each part is worth, is in docs/default.md:
- neighbours are sought inside the coarse label only, so no place goes to a text that the label filter would remove;
- k is a text's own: larger where its surroundings show a much larger category (reach.py);
- kept neighbours are weighted by rank (as in DOWN), sharply at first and flatter as they get cleaner;
- there is no momentum encoder, coarse cross-entropy or rank filter: the queue holds the encoder's own features, and
  the time goes into training every layer;
- the views are really shorter than the texts, which also makes them cheap.

N texts, B texts in a batch, D dimensions, k neighbours.
"""

from __future__ import annotations

import time
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.feature_queue import QueueMethod
from subtaxa.filters import reciprocal_filter
from subtaxa.losses import multi_positive_nce
from subtaxa.methods.down import base_at
from subtaxa.neighbours import Neighbours, retrieve_within
from subtaxa.reach import within_reach
from subtaxa.tokens import Batch

WIDEST = 250  # neighbours looked at, so that k can grow
CLEARLY = 1.5  # times k neighbours must be within reach before k grows


class SoftDNA(QueueMethod):
    """DNA with neighbours of the same label, as many as fit each text, weighted by rank; for sentence encoders."""

    own: ClassVar = {
        "trained_layers": "all",
        "max_tokens": 128,
        "epochs": "auto",
        "learning_rate": 2e-4,
        "view": "shorten",
        "view_rate": 0.4,
        "view_tokens": 48,
        "neighbours": "auto",
    }

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """The E-step."""
        self.refresh()
        begun = time.perf_counter()
        neighbours = self.retrieve()
        k = self.reach(neighbours)[:, None]  # (N, 1), each text's own
        rank = torch.arange(neighbours.indices.shape[1], device=k.device)  # (k,)
        listed = neighbours.valid & (rank < k)  # (N, k)
        kept = self.trust(neighbours, listed)  # (N, k)
        self.positives, self.weights = neighbours.indices, kept * self.fade(epoch) ** (-rank / k)
        self.mined = neighbours.indices, {"label": listed, "reciprocal": kept}
        return {
            "k": float(k.float().mean()),
            "kept": float(kept.sum(1).float().mean()),
            "retrieval_seconds": time.perf_counter() - begun,
        }

    def refresh(self) -> None:
        """The queue takes the features of all texts as they are, not of views."""
        self.queue.refresh(self.encoder.features(self.data.tokens))

    def retrieve(self) -> Neighbours:
        return retrieve_within(self.queue.rows, self.queue.rows, self.data.labels, max(self.k, WIDEST))

    def reach(self, neighbours: Neighbours) -> Tensor:
        """How many neighbours (N,) each text trusts at most: k, or as many as it reaches if they are clearly more."""
        reached = within_reach(neighbours, self.queue.rows, self.data.labels)
        return torch.where(reached >= CLEARLY * self.k, reached, self.k)

    def trust(self, neighbours: Neighbours, listed: Tensor) -> Tensor:
        """The pairs (N, k) that name each other."""
        return listed & reciprocal_filter(neighbours.indices, listed)

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
