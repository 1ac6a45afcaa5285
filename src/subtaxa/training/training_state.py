"""How far a training has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from subtaxa.runtime.json_files import MEASURE, difference

History = list[dict[str, float]]

# The shape of the facts in a checkpoint (runtime/json_files.py).
FACTS = {
    "epoch": int,
    "step": int,
    "epoch_log": {str: MEASURE},
    "loss_sums": {str: MEASURE},
    "epoch_seconds": float,
    "history": [{str: MEASURE}],
    "best_score": (MEASURE, None),
    "epochs_since_best": int,
}


@dataclass
class TrainingState:
    """How far a training has come. A checkpoint holds this and the tensors."""

    epoch: int = 0
    step: int = 0
    epoch_log: dict[str, float] = field(default_factory=dict)  # numbers from the beginning of the current epoch
    loss_sums: dict[str, float] = field(default_factory=dict)  # sums of the loss parts in the current epoch
    epoch_seconds: float = 0.0  # time spent on the current epoch so far
    history: History = field(default_factory=list)
    best_score: float | None = None
    epochs_since_best: int = 0

    @classmethod
    def of_facts(cls, facts: dict[str, Any], epochs: int) -> Self:
        """The state in the facts of a checkpoint of `epochs` epochs. Other facts raise a ValueError or a TypeError."""
        wrong = difference(facts, FACTS)
        if wrong or not 0 <= facts["epoch"] <= epochs or min(facts["step"], facts["epochs_since_best"]) < 0:
            raise ValueError(wrong or f"it is in epoch {facts['epoch']} of {epochs}")
        return cls(**facts)
