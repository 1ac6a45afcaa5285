"""Ring buffers of recent features, one per coarse class, which provide negatives with the query's label.

B texts in a batch, C classes, Q rows in a ring, D dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, labels_of


class ClassQueue:
    """Keeps the last Q features of each class, in no particular order."""

    def __init__(self, n_classes: int, length: int, dimensions: int, device: torch.device) -> None:
        self.rows = torch.zeros(n_classes, length, dimensions, device=device)  # (C, Q, D)
        self.written = torch.zeros(n_classes, dtype=torch.long, device=device)  # (C,) number of rows written so far

    @classmethod
    def for_labels(cls, labels: Tensor, n_classes: int, length: int, dimensions: int) -> ClassQueue:
        """Empty rings for texts with these labels (N,), on the same device and no longer than the largest class."""
        return cls(n_classes, min(length, int(labels.bincount().max())), dimensions, labels.device)

    @property
    def length(self) -> int:
        return self.rows.shape[1]

    @property
    def filled(self) -> Tensor:
        """Which rows hold a feature (C, Q)."""
        return torch.arange(self.length, device=self.rows.device) < self.written[:, None]

    @torch.no_grad()
    def write(self, labels: Tensor, features: Tensor) -> None:
        """Write features (B, D) to the rings of their labels (B,), in order, over the oldest rows."""
        ranks = ranks_within(labels)  # (B,)
        counts = torch.bincount(labels, minlength=len(self.rows))  # (C,)
        last = ranks >= counts[labels] - self.length  # (B,) earlier features would be overwritten at once
        columns = (self.written[labels] + ranks) % self.length  # (B,)
        self.rows[labels[last], columns[last]] = features.detach()[last]
        self.written += counts

    def state(self) -> dict[str, Tensor]:
        return {"queue": self.rows, "queue_written": self.written}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.rows.copy_(state["queue"])
        self.written.copy_(state["queue_written"])


class RingMethod(Method):
    """A method with rings of its momentum encoder's features. `start` makes the queue; `keys` returns features."""

    queue: ClassQueue

    def keys(self, batch: Batch) -> Tensor:
        """The momentum encoder's features (B, D), unit length."""
        raise NotImplementedError(f"{type(self).__name__} has no keys")  # pragma: no cover

    def enqueue(self, batch: Batch, keys: Tensor) -> None:
        """Write the keys (B, D) of a batch, and those of the other processes, to the rings."""
        self.queue.write(self.gather(labels_of(self.data, batch)), self.gather(keys))

    def state(self) -> dict[str, Tensor]:
        return self.queue.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.queue.load_state(state)

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        """Before the first epoch, fill the rings, so that there are negatives from the first step on."""
        if epoch == 0:
            self.encoder.eval()
            for index in sample_within(self.data.labels, self.queue.length).split(256):
                batch = self.encoder.batch(self.data.tokens, index)
                self.enqueue(batch, self.keys(batch))
        return {}


def scores_within(queries: Tensor, labels: Tensor, rows: Tensor, filled: Tensor) -> Tensor:
    """The dot products (B, Q) of each query (B, D) with the rows of its class's ring, −inf where a row is empty."""
    scores = (queries @ rows.flatten(0, 1).T).unflatten(1, filled.shape)  # (B, C, Q)
    own = scores[torch.arange(len(labels), device=labels.device), labels]  # (B, Q)
    return own.masked_fill(~filled[labels], -torch.inf)


def sample_within(labels: Tensor, size: int) -> Tensor:
    """Up to `size` random texts of each class, as positions in `labels`, in random order."""
    order = torch.randperm(len(labels), device=labels.device)  # (N,)
    return order[ranks_within(labels[order]) < size]


def ranks_within(labels: Tensor) -> Tensor:
    """How many earlier texts have the same label (B,)."""
    order = labels.argsort(stable=True)  # (B,)
    counts = torch.bincount(labels)  # (C,)
    starts = counts.cumsum(0) - counts  # (C,)
    ranks = torch.empty_like(labels)
    ranks[order] = torch.arange(len(labels), device=labels.device) - starts[labels[order]]
    return ranks
