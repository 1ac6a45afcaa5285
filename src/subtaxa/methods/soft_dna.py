"""The default method: DNA with soft weights instead of hard filters, for encoders already trained on sentences.

E-step: encode all texts, retrieve neighbours, keep the reciprocal ones. M-step: train for an epoch, pulling each text
to its neighbours and away from the other texts. The differences from DNA:
- Neighbours are retrieved inside the coarse label only, so that none is lost to the label filter.
- Texts are compared by their features and by their words (encoders/lexical.py), as far as words help to tell the
  coarse labels apart.
- Kept neighbours are weighted by rank, as in DOWN: sharply at first, and more evenly as they become more accurate.
- Where categories have about the same size, neighbours in another category are removed. If words matter as well, the
  texts of one category replace the neighbours in the last quarter of the epochs (training/category_positives.py).
- There is no momentum encoder, no coarse cross-entropy and no rank filter. The queue holds the encoder's own features,
  and the time goes into training every layer.
- Views are shorter than the texts, which makes them cheap.

N texts, B texts in a batch, D dimensions, W words, k neighbours.
"""

from __future__ import annotations

import math
import time
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.filters import label_filter, reciprocal_filter, survival
from subtaxa.clustering.neighbours import Neighbours, retrieve_within
from subtaxa.clustering.rules import rule_for
from subtaxa.encoders.lexical import lexical_weight, with_lexical
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.down import base_at
from subtaxa.runtime import processes
from subtaxa.runtime.arrays import unit
from subtaxa.training.category_positives import members
from subtaxa.training.feature_queue import QueueMethod
from subtaxa.training.losses import multi_positive_nce, rank_weights


class SoftDNA(QueueMethod):
    """DNA with neighbours of the same label, weighted by rank, and every layer trained; for sentence encoders."""

    defaults: ClassVar = {
        "trained_layers": "auto",
        "max_tokens": 160,
        "epochs": "auto",
        "learning_rate": 2e-4,
        "augment": "shorten",
        "augment_rate": "auto",
        "augment_tokens": 128,
        "neighbours": "auto",
    }

    word_weight = word_limit = 0.0

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """The E-step."""
        self.refresh(epoch)
        begun = time.perf_counter()
        found = processes.broadcast(self.balanced_categories)
        log = (
            self.use_category_positives(found)
            if found is not None and self.in_category_phase(epoch)
            else self.use_neighbour_positives(epoch, found)
        )
        return {
            "word_weight": self.word_weight,
            "even": float(found is not None),
            **log,
            "retrieval_seconds": time.perf_counter() - begun,
        }

    def balanced_categories(self) -> Clusters | None:
        """The categories found with the current features, or None unless they have about the same size."""
        return self.data.balanced_categories(unit(self.compared().cpu().numpy()), self.judged, rule_for(self.settings))

    def use_neighbour_positives(self, epoch: int, found: Clusters | None) -> dict[str, float]:
        """In the next epoch, the positives of a text are its neighbours."""
        neighbours = self.retrieve()
        stages = {"label": neighbours.valid, "reciprocal": self.reciprocal_mask(neighbours)}  # (N, k) each
        if found is not None:
            stages["category"] = stages["reciprocal"] & self.same_category(neighbours, found)
        kept = list(stages.values())[-1]
        decay = rank_weights(kept.shape[1], self.rank_decay(epoch), kept.device)  # (k,)
        self.positives, self.weights = neighbours.indices, kept * decay
        self.mined = neighbours.indices, stages
        return {"k": self.k, "kept": float(kept.sum(1).float().mean()), **survival(stages)}

    def same_category(self, neighbours: Neighbours, found: Clusters) -> Tensor:
        """Which neighbours (N, k) are in the category of the text itself."""
        rows, labels = unit(self.compared().cpu().numpy()), self.data.labels.cpu().numpy()
        own = torch.from_numpy(found.nearest(rows, labels)).to(neighbours.indices.device)  # (N,)
        return label_filter(neighbours.indices, own)

    def in_category_phase(self, epoch: int) -> bool:
        """Whether this is the last quarter of the epochs and words still have a weight."""
        epochs = int(self.settings.epochs)
        return self.word_weight > 0 and epoch >= epochs - math.ceil(epochs / 4) > 0

    def use_category_positives(self, found: Clusters) -> dict[str, float]:
        """In the next epoch, the positives of a text are the texts of its category."""
        rows, labels = unit(self.compared().cpu().numpy()), self.data.labels.cpu().numpy()
        fellows, sure = members(rows, labels, found)  # (N, k) each
        self.positives, self.weights = (torch.from_numpy(part).to(self.encoder.device) for part in (fellows, sure))
        self.mined = self.positives, {"category": self.weights > 0}
        return {"kept": float((sure > 0).sum(1).mean())}

    def refresh(self, epoch: int) -> None:
        """Fill the queue with the features of all texts, not of views."""
        known = self.data.untrained if epoch == 0 else None
        self.fill(self.encoder.features(self.data.tokens) if known is None else known, epoch)

    def fill(self, features: Tensor, epoch: int) -> None:
        self.queue.refresh(features)
        self.word_weight = self.weigh_words(epoch)
        self.judge(epoch)

    def weigh_words(self, epoch: int) -> float:
        """The weight of the words in this epoch, at most that of the first epoch.

        It stays the same where the encoder reads only the beginning of most texts, because words cover the rest.
        """
        if self.data.words is None:
            return 0.0
        if epoch > 0 and self.cut:
            return self.word_limit
        limit = None if epoch == 0 else self.word_limit
        features, words, labels = self.queue.rows, self.data.words, self.data.labels
        weight = processes.broadcast(lambda: lexical_weight(features, words, labels, limit))
        self.word_limit = weight if epoch == 0 else self.word_limit
        return weight

    @property
    def cut(self) -> bool:
        """Whether the encoder truncates most texts: they are as long as the longest."""
        lengths = self.data.tokens.lengths
        return float((lengths == lengths.max()).float().mean()) > 0.5

    def words_kept(self) -> float:
        """At most the weight of the trained features, and 0 where the encoder reads whole texts."""
        return min(1.0, self.word_limit) if self.cut else 0.0

    def compared(self) -> Tensor:
        """The rows by which texts are compared, (N, D) or (N, D + W)."""
        return (
            self.queue.rows
            if self.data.words is None
            else with_lexical(self.queue.rows, self.data.words, self.word_weight)
        )

    def retrieve(self) -> Neighbours:
        rows = self.compared()
        return retrieve_within(rows, rows, self.data.labels, self.k)

    def reciprocal_mask(self, neighbours: Neighbours) -> Tensor:
        """Which neighbours (N, k) have the text on their own list."""
        return reciprocal_filter(neighbours.indices, neighbours.valid, self.data.labels)

    def rank_decay(self, epoch: int) -> float:
        """The weight of the first of k neighbours divided by that of the last."""
        return base_at(epoch, int(self.settings.epochs))

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
            self.queue.some(),
        )
        return {"alignment": alignment, "uniformity": uniformity}

    def after_step(self, batch: Batch) -> None:
        self.queue.write(self.gather(batch.index), self.gather(self.latest))

    def state(self) -> dict[str, Tensor]:
        return {**super().state(), "word_limit": torch.tensor([self.word_limit])}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        self.word_limit = float(state["word_limit"])


VARIANTS = {"soft-dna": SoftDNA}
