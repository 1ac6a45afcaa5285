"""The encoder as it is: the row "BERT" of the paper's table, and the bar every method has to clear."""

from __future__ import annotations

from torch import Tensor

from subtaxa.methods.base import Method
from subtaxa.tokens import Batch


class Frozen(Method):
    """The encoder as it is: there is not a single text to train on."""

    def training_subset(self) -> Tensor:
        return self.data.labels.new_empty(0)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        return {"none": self.query(batch).sum() * 0.0}


VARIANTS = {"frozen": Frozen}
