"""The quick preset: the encoder is frozen, and only a linear map of its features is trained, with the default's loss.

The layers' outputs are computed once and cached, so a step is cheap. Views drop tokens of the cached outputs. The map
starts as the identity. It has no bias, because features are normalised after it. It is saved as a module of the model.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.encoders.base import Encoder
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA


class HeadOnly(SoftDNA):
    """The default's loss on a linear map of frozen features, for a quick first result."""

    defaults: ClassVar = {
        **SoftDNA.defaults,
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
