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

MOST_RIVALS = 2**15  # The largest number of rows in the denominator of the loss; longer queues are sampled.


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

    def some(self) -> Tensor | None:
        """Of a long queue, evenly spaced rows (n, D) that stand for all, others each time; None if all are few enough.

        They are a view of the queue: its rows are not copied.
        """
        every = -(-len(self.rows) // MOST_RIVALS)
        return self.rows[int(torch.randint(every, ())) :: every] if every > 1 else None

    @torch.no_grad()
    def write(self, index: Tensor, features: Tensor) -> None:
        """Rewrite the rows of the current batch with their latest features."""
        self.rows[index] = features.detach()  # (B, D)


class QueueMethod(Method):
    """A method that keeps a feature of every text, and for every text neighbours and how much each of them counts."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.k = int(self.settings.neighbours)
        self.queue = FeatureQueue(torch.zeros(len(data), encoder.dimensions, device=encoder.device))
        self.positives = torch.arange(len(data), device=encoder.device)[:, None]  # (N, k), at first each text itself
        self.weights = torch.ones(len(data), 1, device=encoder.device)  # (N, k)

    def fill(self, features: Tensor, epoch: int) -> None:
        """Renew every row of the queue."""
        self.queue.refresh(features)
        self.judge(epoch)

    @property
    def n_retrieved(self) -> int:
        """The number of rows retrieved for each text, the text itself among them."""
        return self.k

    def compared(self) -> Tensor:
        """What texts are compared by (N, D)."""
        return self.queue.rows

    def judge(self, epoch: int) -> None:
        """If nobody said how many categories there are, see how many the texts show, once; k follows.

        Before training the features are blurred: the first epoch has few neighbours, which are safe. Later than after
        the first the features show what k has made of them: what was lumped together by mistake looks like one. A lone
        label is not judged here: nothing tells whether it is one category before training is over.
        """
        if epoch != 1 or not self.data.unknown or self.data.n_labels == 1:
            return
        rows, labels = self.compared(), self.data.labels
        estimator = estimator_for(self.settings)
        self.judged = processes.broadcast(
            lambda: estimator.estimate(Forest(unit(rows.cpu().numpy()), labels.cpu().numpy()), self.data.fixed)
        )
        if self.data.estimating:
            self.k = neighbours_for(len(self.data), self.judged.total)

    def state(self) -> dict[str, Tensor]:
        judged = {} if self.judged is None else self.judged._asdict()
        return {
            "queue": self.queue.rows,
            "positives": self.positives.int(),
            "weights": self.weights,
            "k": torch.tensor([self.k]),
            **{f"judged_{name}": torch.from_numpy(part) for name, part in judged.items()},
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.queue.refresh(state["queue"])
        self.k = int(state["k"])
        self.positives = state["positives"].long().to(self.encoder.device)
        self.weights = state["weights"].to(self.encoder.device)
        if "judged_totals" in state:
            self.judged = Estimate(*(state[f"judged_{name}"].numpy() for name in Estimate._fields))
