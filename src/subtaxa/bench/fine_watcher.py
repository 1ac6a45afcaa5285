"""Measures a training against the fine labels: the accuracy of the neighbours, and the scores after each epoch.

N texts, k neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from subtaxa.bench.protocols import kmeans
from subtaxa.bench.scoring import score
from subtaxa.runtime.arrays import Floats
from subtaxa.training.trainer import Watcher

# Random starts of k-means after each epoch, which only the curves need.
CURVE_RESTARTS = 3


class FineWatcher(Watcher):
    """Measures a training against the fine labels.

    It records how many neighbours each filter keeps and how many of them are right, not counting the text itself.
    After each epoch it scores the test texts, if their features are given.
    """

    def __init__(
        self,
        train: Sequence[str],
        test: Sequence[str],
        number: int,
        seed: int,
        features: Callable[[], Floats] | None,
    ) -> None:
        self.fine = torch.from_numpy(np.unique(train, return_inverse=True)[1].astype(np.int64))
        self.truth, self.number, self.seed, self.features = test, number, seed, features

    def mined(self, indices: Tensor, stages: Mapping[str, Tensor]) -> dict[str, float]:
        indices = indices.cpu()
        other = indices != torch.arange(len(indices))[:, None]  # (N, k)
        right = self.fine[indices] == self.fine[:, None]  # (N, k)
        log = {}
        for stage, kept in stages.items():
            counted = kept.cpu() & other
            log[f"accuracy_{stage}"] = float(right[counted].float().mean()) if counted.any() else float("nan")
            log[f"count_{stage}"] = float(counted.sum() / len(indices))
        return log

    def epoch(self) -> dict[str, float]:
        if self.features is None:
            return {}
        found = score(self.truth, kmeans(self.features(), self.number, self.seed, CURVE_RESTARTS))
        return {"acc": found.acc, "ari": found.ari, "nmi": found.nmi}
