"""DNA as in its authors' released code, where that differs from the paper. Each difference is a switch.

With every switch off and `schedule_length` 1, this is DNA to the last bit. In both, the rank filter runs at the first
retrieval only, the feature is the unit pooled feature, and the keys have no dropout, because the momentum encoder is
never in train mode. The released learning-rate schedule covers 100 epochs, of which 20 are run; this is the setting
`schedule_length` 5. Pretraining is "bert+ce-as-released". The released code's loops over texts and neighbours, and its
(B, N, D) tensor, are array operations here.
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

# The inner dimensions and the dropout rate of the released classifiers.
HEAD_DIMENSIONS, HEAD_DROPOUT = 128, 0.1


@dataclass(frozen=True)
class Switches:
    """The differences between the released code and the paper."""

    # A removed neighbour is written as −1, which as an index is the last text.
    last_text_positive: bool = True

    # The queue is refilled from the query encoder, not from the momentum encoder.
    query_refill: bool = True

    # The reciprocal filter is applied to the lists before the label filter. The kept neighbours are the same.
    unfiltered_reciprocal: bool = True

    # The coarse classifier is D → D → ReLU → dropout → 128 → C.
    deep_head: bool = True

    # The momentum encoder reads the query's augmented view, not the text itself.
    augmented_keys: bool = True

    # A text has k neighbours in addition to itself, so k + 1 rows are retrieved.
    k_others: bool = True


class DNAAsReleased(DNA):
    """DNA as in the authors' released code, which differs from the paper."""

    defaults: ClassVar = DNA.defaults | {"schedule": "linear", "warmup": 0.1, "schedule_length": 5.0}
    pretraining: ClassVar[str] = "bert+ce-as-released"
    switches: Switches = Switches()

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.viewed: Batch | None = None  # the view that the query encoder has just read
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
        self.queue.refresh(self.encoder.features(self.data.tokens))
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
    """Positives and weights with one more column (N, k + 1): the last text, for every text that lost a neighbour.

    The released mask is 0 or 1, so the last text counts once even if several neighbours were lost or it is one itself.
    """
    last = torch.full_like(positives[:, :1], len(positives) - 1)  # (N, 1)
    lost = (weights == 0).any(1, keepdim=True)  # (N, 1)
    listed = ((positives == last) & (weights > 0)).any(1, keepdim=True)  # (N, 1)
    return torch.cat([positives, last], dim=1), torch.cat([weights, (lost & ~listed).to(weights)], dim=1)


def deep_head(dimensions: int, labels: int) -> nn.Sequential:
    """The released coarse classifier."""
    return nn.Sequential(
        nn.Linear(dimensions, dimensions),
        nn.ReLU(),
        nn.Dropout(HEAD_DROPOUT),
        nn.Linear(dimensions, HEAD_DIMENSIONS),
        nn.Linear(HEAD_DIMENSIONS, labels),
    )


class BertCEAsReleased(BertCE):
    """The released code's pretraining: dropout before the classifier, and a learning-rate schedule a quarter too long.

    The released code counts the steps of the schedule for all texts, but trains on the 80 % that are not held out.
    """

    defaults: ClassVar = BertCE.defaults | {"schedule": "linear", "warmup": 0.1, "schedule_length": 1.25}

    def classifier(self) -> nn.Module:
        return nn.Sequential(nn.Dropout(HEAD_DROPOUT), super().classifier())


VARIANTS = {"dna-as-released": DNAAsReleased, "bert+ce-as-released": BertCEAsReleased}
