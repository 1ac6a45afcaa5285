"""The dynamic queue M: one unit-length feature per training text, addressed by the text's index.

N texts, B texts in a batch, D dimensions, k neighbours.
"""

from __future__ import annotations

import torch
from torch import Tensor

from subtaxa.clustering.estimators import Estimate, estimator_for
from subtaxa.clustering.forest import Forest
from subtaxa.encoders.base import Encoder
from subtaxa.methods.base import Method, TrainingData
from subtaxa.runtime import processes
from subtaxa.runtime.arrays import unit
from subtaxa.settings import neighbours_for

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

    def fill(self, features: Tensor, epoch: int) -> None:
        """Replace every row of the queue."""
        self.queue.refresh(features)
        self.estimate_number(epoch)

    @property
    def n_retrieved(self) -> int:
        """The number of rows retrieved for each text, including the text itself."""
        return self.k

    def comparison_features(self) -> Tensor:
        """The features (N, D) by which texts are compared."""
        return self.queue.rows

    def estimate_number(self, epoch: int) -> None:
        """Estimate the number of categories once, unless the user has given it, and set k from it.

        The estimate is made after the first epoch. Before training, the features are too blurred, so the first epoch
        uses few neighbours, which are reliable. In later epochs, the features reflect the choice of k: categories that
        were mixed by mistake look like one. If there is only one label, its number is estimated after training.
        """
        if epoch != 1 or not self.data.number_is_guess or self.data.n_labels == 1:
            return
        rows, labels = self.comparison_features(), self.data.labels
        estimator = estimator_for(self.settings)
        self.estimate = processes.broadcast(
            lambda: estimator.estimate(Forest(unit(rows.cpu().numpy()), labels.cpu().numpy()), self.data.fixed)
        )
        if self.data.estimate_neighbours:
            self.k = neighbours_for(len(self.data), self.estimate.total)

    def state(self) -> dict[str, Tensor]:
        estimate = {} if self.estimate is None else self.estimate._asdict()
        return {
            "queue": self.queue.rows,
            "positives": self.positives.int(),
            "weights": self.weights,
            "k": torch.tensor([self.k]),
            **{f"estimate_{name}": torch.from_numpy(part) for name, part in estimate.items()},
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.queue.refresh(state["queue"])
        self.k = int(state["k"])
        self.positives = state["positives"].long().to(self.encoder.device)
        self.weights = state["weights"].to(self.encoder.device)
        if "estimate_totals" in state:
            self.estimate = Estimate(*(state[f"estimate_{name}"].numpy() for name in Estimate._fields))
