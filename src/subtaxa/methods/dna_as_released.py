"""DNA as in its authors' released code, where that differs from the paper. Each difference is a switch.

With every switch off and `schedule_length` 1, this is DNA to the last bit. Two things need no switch: the rank filter
runs at the first retrieval only in both, and the feature is the unit pooled feature in both. The released learning-rate
schedule covers 100 epochs of which 20 are run: that is the setting `schedule_length`, 5. The released momentum encoder
is never in train mode, so its keys have no dropout, here too. Pretraining is "bert+ce-as-released". The released loops
over texts and neighbours, and its (B, N, D) tensor, are array code here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from subtaxa.clustering.filters import reciprocal_filter
from subtaxa.clustering.neighbours import Neighbours
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData
from subtaxa.methods.bert import BertCE
from subtaxa.methods.dna import DNA

HEAD_DIMENSIONS, HEAD_DROPOUT = 128, 0.1


@dataclass(frozen=True)
class Switches:
    """What the released code does otherwise than the paper."""

    last_text_positive: bool = True  # a removed neighbour is written as −1, which as an index is the last text
    query_refill: bool = True  # the queue is refilled from the query encoder, not the momentum encoder
    unfiltered_reciprocal: bool = (
        True  # the reciprocal filter looks at the lists as retrieved: what is kept is the same
    )
    deep_head: bool = True  # the coarse classifier is D → D → ReLU → dropout → 128 → C
    augmented_keys: bool = True  # the momentum encoder reads the query's augmented view, not the text itself
    k_others: bool = True  # k neighbours beside the text itself, so k + 1


class DNAAsReleased(DNA):
    """DNA as in the authors' released code, which differs from the paper in several ways."""

    defaults: ClassVar = DNA.defaults | {"schedule": "linear", "warmup": 0.1, "schedule_length": 5.0}
    pretraining: ClassVar[str] = "bert+ce-as-released"
    switches: Switches = Switches()

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.viewed: Batch | None = None  # what the query encoder has just read
        if self.switches.deep_head:
            self.head = deep_head(encoder.dimensions, data.n_labels)

    @property
    def n_retrieved(self) -> int:
        return self.k + self.switches.k_others

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        log = super().begin_epoch(epoch)
        if self.switches.last_text_positive:
            self.positives, self.weights = with_last_text(self.positives, self.weights)
        return log

    def refresh(self, epoch: int) -> Tensor:
        if not self.switches.query_refill:
            return super().refresh(epoch)
        self.fill(self.encoder.features(self.data.tokens), epoch)
        return self.queue.rows

    def reciprocal(self, neighbours: Neighbours, kept: Tensor) -> Tensor:
        listed = neighbours.valid if self.switches.unfiltered_reciprocal else kept
        return reciprocal_filter(neighbours.indices, listed)

    def _view(self, batch: Batch) -> Batch:
        self.viewed = super()._view(batch)
        return self.viewed

    def after_step(self, batch: Batch) -> None:
        super().after_step(self.viewed if self.switches.augmented_keys and self.viewed is not None else batch)


def with_last_text(positives: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """One more column (N, k + 1): the last text is a positive of every text that lost a neighbour.

    The released mask is 0 or 1, so it counts once, however many neighbours were lost or if it is a neighbour anyway.
    """
    last = torch.full_like(positives[:, :1], len(positives) - 1)  # (N, 1)
    lost = (weights == 0).any(1, keepdim=True)  # (N, 1)
    listed = ((positives == last) & (weights > 0)).any(1, keepdim=True)  # (N, 1)
    return torch.cat([positives, last], dim=1), torch.cat([weights, (lost & ~listed).to(weights)], dim=1)


def deep_head(dimensions: int, labels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(dimensions, dimensions),
        nn.ReLU(),
        nn.Dropout(HEAD_DROPOUT),
        nn.Linear(dimensions, HEAD_DIMENSIONS),
        nn.Linear(HEAD_DIMENSIONS, labels),
    )


class BertCEAsReleased(BertCE):
    """The pretraining of the released code: dropout before the classifier, and a schedule a quarter too long.

    The released code counts the steps of the schedule over all texts, but trains on the 80 % that are not held out.
    """

    defaults: ClassVar = BertCE.defaults | {"schedule": "linear", "warmup": 0.1, "schedule_length": 1.25}

    def classifier(self) -> nn.Module:
        return nn.Sequential(nn.Dropout(HEAD_DROPOUT), super().classifier())


VARIANTS = {"dna-as-released": DNAAsReleased, "bert+ce-as-released": BertCEAsReleased}
