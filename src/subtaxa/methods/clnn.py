"""CLNN, contrastive learning with nearest neighbours (ACL 2022): a text and one of its neighbours are two views.

The loss is a supervised contrastive loss: two texts of a batch are also positives if one is on the other's neighbour
list. As in the authors' code, a list holds the text itself and its k nearest texts; the list of text i decides whether
(i, j) is a positive pair, and the same holds for the neighbours drawn for both; a head of two layers is used in
training only; and neighbours are retrieved by the encoder's features. Views are made by replacing or dropping tokens.
Pretraining is CE + MLM, and CE is not used afterwards. A training of five epochs or fewer refreshes the neighbours
once, halfway.
B texts in a batch, k neighbours.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.clustering.neighbours import retrieve
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, TrainingData, checked_positions
from subtaxa.training.losses import multi_positive_in_batch

# The number of epochs between two retrievals.
REFRESH = 5

# The output dimensions of the head that is used in training.
WIDTH = 128


def refresh_interval(epochs: int) -> int:
    """The number of epochs between two retrievals: five, or half of the epochs if there are five or fewer."""
    return REFRESH if epochs > REFRESH else max(1, -(-epochs // 2))


def listed(lists: Tensor, index: Tensor) -> Tensor:
    """Whether text j of the batch (B,) is on the list of text i, as (B, B). The lists (B, k) are sorted."""
    texts = index.repeat(len(lists), 1)  # (B, B)
    columns = torch.searchsorted(lists, texts).clamp_(max=lists.shape[1] - 1)  # (B, B)
    return lists.gather(1, columns) == texts


def drawn(lists: Tensor) -> Tensor:
    """One random member (B,) of each list (B, k)."""
    columns = torch.randint(lists.shape[1], (len(lists), 1), device=lists.device)  # (B, 1)
    return lists.gather(1, columns).squeeze(1)


class CLNN(Method):
    """CLNN: contrast of each text with one of its k neighbours; neighbours in the same batch are positives too."""

    defaults: ClassVar = {"neighbours": 50, "temperature": 0.07}
    random_batches: ClassVar[bool] = True
    pretraining: ClassVar[str] = "bert+ce+mlm"

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        width = encoder.dimensions
        layers = nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, WIDTH)
        self.projection = nn.Sequential(*layers)
        self.lists = torch.arange(len(data), device=encoder.device)[
            :, None
        ]  # (N, k + 1), only the text itself until the first retrieval

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "projection": self.projection}

    def state(self) -> dict[str, Tensor]:
        return {"lists": self.lists.int()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.lists = checked_positions(state["lists"], len(self.data)).to(self.encoder.device)

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        if epoch % refresh_interval(int(self.settings.epochs)) == 0:
            features = self.encoder.features(self.data.tokens)  # (N, D)
            self.lists = retrieve(features, features, int(self.settings.neighbours) + 1).indices.sort(1).values
        return {}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        lists = self.lists[batch.index]  # (B, k + 1)
        both = self.encoder.batch(self.data.tokens, torch.cat([batch.index, drawn(lists)]))
        texts, neighbours = F.normalize(self.projection(self.query(both)), dim=1).chunk(2)  # (B, WIDTH) each
        positive = listed(lists, batch.index)  # (B, B)
        return {"contrastive": multi_positive_in_batch(texts, neighbours, positive, self.settings.temperature)}


VARIANTS = {"clnn": CLNN}
