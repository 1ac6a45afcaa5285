"""The dynamic queue M: one unit-length feature per training text, addressed by the text's index.

N texts, B texts in a batch, D dimensions, k neighbours.
"""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.encoders.base import Encoder
from subtaxa.methods.base import Method, TrainingData, checked_positions

# The largest number of rows in the denominator of the loss. Longer queues are sampled.
MAX_DENOMINATOR_ROWS = 2**15


class FeatureQueue:
    """Row i always belongs to text i, so neighbours can be stored as indices."""

    def __init__(self, features: Tensor) -> None:
        self.rows = features.detach().clone()  # (N, D)

    def __len__(self) -> int:
        return len(self.rows)

    def refresh(self, features: Tensor) -> None:
        """Replace every row, as is done before each epoch's retrieval."""
        if features.shape != self.rows.shape:
            raise ValueError(f"the queue holds {tuple(self.rows.shape)}, got {tuple(features.shape)}")
        self.rows.copy_(features.detach())

    def denominator_sample(self) -> Tensor | None:
        """Evenly spaced rows (n, D) of a long queue, with a random start; None if the queue is short enough.

        The result is a view of the queue: rows are not copied.
        """
        every = -(-len(self.rows) // MAX_DENOMINATOR_ROWS)
        return self.rows[int(torch.randint(every, ())) :: every] if every > 1 else None

    @torch.no_grad()
    def write(self, index: Tensor, features: Tensor) -> None:
        """Rewrite the rows of the current batch with their latest features."""
        self.rows[index] = features.detach()  # (B, D)


class QueueMethod(Method):
    """A method that keeps the feature of every text, its neighbours and their weights."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.k = int(self.settings.neighbours)
        self.queue = FeatureQueue(torch.zeros(len(data), encoder.dimensions, device=encoder.device))
        self.positives = torch.arange(len(data), device=encoder.device)[
            :, None
        ]  # (N, k), at first only the text itself
        self.weights = torch.ones(len(data), 1, device=encoder.device)  # (N, k)

    @property
    def n_retrieved(self) -> int:
        """The number of rows retrieved for each text, including the text itself."""
        return self.k

    def state(self) -> dict[str, Tensor]:
        return {
            "queue": self.queue.rows,
            "positives": self.positives.int(),
            "weights": self.weights,
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.queue.refresh(state["queue"])
        positives, weights = checked_positions(state["positives"], len(self.data)), state["weights"]
        if positives.shape != weights.shape or positives.shape[:-1] != (len(self.data),):
            raise ValueError(f"the neighbours have the shape {tuple(positives.shape)}")
        self.positives = positives.to(self.encoder.device)
        self.weights = weights.to(self.encoder.device)
