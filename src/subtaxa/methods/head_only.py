"""A first look: the encoder stays as it is, and only a linear map of its features is trained, as the default trains.

The layers' outputs are computed once and kept, so that a step costs next to nothing; views leave out tokens of them.
The map begins as the identity and needs no bias, as features are brought to unit length after it. It is saved with the
model as one more module of it.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.encoders.base import Encoder
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA


class HeadOnly(SoftDNA):
    """The default's loss for a linear map of the encoder's features: a first look, in little more than one reading."""

    own: ClassVar = {
        **SoftDNA.own,
        "trained_layers": 0,
        "epochs": 8,
        "batch_size": 256,
        "learning_rate": 1e-3,
        "augment": "drop",
        "augment_rate": 0.4,
    }

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        encoder.add_head()
        super().start(encoder, data)


VARIANTS = {"head-only": HeadOnly}
