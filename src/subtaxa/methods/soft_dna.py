"""The default method: DNA with soft weights instead of hard filters, for encoders already trained on sentences.

E-step: encode all texts, retrieve neighbours, keep the reciprocal ones. M-step: train for an epoch, pulling each text
to its neighbours and away from the other texts. The differences from DNA:
- Neighbours are retrieved inside the coarse label only, so that none is lost to the label filter.
- Texts are also compared by their lexical features (encoders/lexical.py), as far as these help to tell the coarse
  labels apart.
- Kept neighbours are weighted by 1 / rank. Ranks 1 to 2 count as much as 3 to 5, 6 to 11 and so on: every scale has a
  say, so that training needs to know neither the number nor the size of the categories.
- There is no momentum encoder, no coarse cross-entropy and no rank filter. The queue holds the encoder's own features,
  and the time saved is spent on training every layer.
- Views are shorter than the texts, which makes them cheap.
- The final weights are a mean of the untrained and the trained ones (training/weight_average.py).

N texts, B texts in a batch, D dimensions, W lexical dimensions, k neighbours.
"""

from __future__ import annotations

import time
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.clustering.filters import reciprocal_filter, survival
from subtaxa.clustering.neighbours import Neighbours, retrieve_within
from subtaxa.encoders.lexical import lexical_weight, with_lexical
from subtaxa.encoders.tokens import Batch
from subtaxa.runtime import processes
from subtaxa.training.feature_queue import QueueMethod
from subtaxa.training.losses import multi_positive_nce


class SoftDNA(QueueMethod):
    """The default: DNA with neighbours inside the label, weighted by rank, for sentence encoders."""

    defaults: ClassVar = {
        "trained_layers": "auto",
        "max_tokens": 160,
        "epochs": "auto",
        "learning_rate": "auto",
        "untrained_share": "auto",
        "augment": "shorten",
        "augment_rate": "auto",
        "augment_tokens": 128,
        "neighbours": "auto",
    }

    lexical_weight = max_lexical_weight = 0.0

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """The E-step."""
        self.refresh(epoch)
        started = time.perf_counter()
        neighbours = self.retrieve()
        stages = {"label": neighbours.valid, "reciprocal": self.reciprocal_mask(neighbours)}  # (N, k) each
        kept = stages["reciprocal"]
        self.positives, self.weights = neighbours.indices, kept * self.rank_weights(kept.shape[1]).to(kept.device)
        self.mined = neighbours.indices, stages
        return {
            "word_weight": self.lexical_weight,
            "kept": float(kept.sum(1).float().mean()),
            **survival(stages),
            "retrieval_seconds": time.perf_counter() - started,
        }

    def refresh(self, epoch: int) -> None:
        """Fill the queue with the features of all texts, not of views."""
        known = self.data.untrained if epoch == 0 else None
        self.fill(self.encoder.features(self.data.tokens) if known is None else known, epoch)

    def fill(self, features: Tensor, epoch: int) -> None:
        self.queue.refresh(features)
        self.lexical_weight = self.choose_lexical_weight(epoch)

    def choose_lexical_weight(self, epoch: int) -> float:
        """The weight of the lexical features in this epoch, at most that of the first epoch.

        It stays the same where the encoder truncates most texts, because lexical features cover the rest of them.
        """
        if self.data.lexical is None:
            return 0.0
        if epoch > 0 and self.truncates_most:
            return self.max_lexical_weight
        limit = None if epoch == 0 else self.max_lexical_weight
        features, lexical, labels = self.queue.rows, self.data.lexical, self.data.labels
        weight = processes.broadcast(lambda: lexical_weight(features, lexical, labels, limit))
        self.max_lexical_weight = weight if epoch == 0 else self.max_lexical_weight
        return weight

    @property
    def truncates_most(self) -> bool:
        """Whether the encoder truncates most texts, so that they have as many tokens as the longest."""
        lengths = self.data.tokens.lengths
        return float((lengths == lengths.max()).float().mean()) > 0.5

    def final_lexical_weight(self) -> float:
        """The weight in the first epoch, at most 1, and 0 where the encoder reads most texts as a whole."""
        return min(1.0, self.max_lexical_weight) if self.truncates_most else 0.0

    def comparison_features(self) -> Tensor:
        """The features by which texts are compared, (N, D) or (N, D + W)."""
        if self.data.lexical is None:
            return self.queue.rows
        return with_lexical(self.queue.rows, self.data.lexical, self.lexical_weight)

    def retrieve(self) -> Neighbours:
        rows = self.comparison_features()
        return retrieve_within(rows, rows, self.data.labels, self.k)

    def reciprocal_mask(self, neighbours: Neighbours) -> Tensor:
        """Which neighbours (N, k) have the text on their own lists."""
        return reciprocal_filter(neighbours.indices, neighbours.valid, self.data.labels)

    def rank_weights(self, k: int) -> Tensor:
        """The weight (k,) of each neighbour by its rank. The text itself has rank 1."""
        return 1.0 / torch.arange(1, k + 1)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The M-step: pull each text to its positives and away from the rest of the queue."""
        queries = F.normalize(self.query(batch), dim=1)  # (B, D)
        self.latest = queries.detach()
        alignment, uniformity = multi_positive_nce(
            queries,
            self.queue.rows,
            self.positives[batch.index],
            self.weights[batch.index],
            self.settings.temperature,
            self.queue.denominator_sample(),
        )
        return {"alignment": alignment, "uniformity": uniformity}

    def after_step(self, batch: Batch) -> None:
        self.queue.write(self.gather(batch.index), self.gather(self.latest))

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "max_lexical_weight": torch.tensor([self.max_lexical_weight])}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        limit = float(state["max_lexical_weight"])
        if not limit >= 0:
            raise ValueError(f"the limit of the lexical weight is {limit}")
        self.max_lexical_weight = limit


VARIANTS = {"soft-dna": SoftDNA}
