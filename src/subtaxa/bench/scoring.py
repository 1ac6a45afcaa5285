"""Scores of found categories against known fine labels: ACC, ARI and NMI, in percent."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

if TYPE_CHECKING:
    from subtaxa.discovery import Discovery


@dataclass(frozen=True)
class Score:
    """Three measures of how well two partitions agree. Each is 100 for equal partitions."""

    acc: float
    ari: float
    nmi: float

    def __str__(self) -> str:
        return f"ACC {self.acc:.1f}  ARI {self.ari:.1f}  NMI {self.nmi:.1f}"


def score(truth: Sequence[Any] | NDArray[Any], found: Sequence[Any] | NDArray[Any]) -> Score:
    """Score a partition. ACC uses the best one-to-one matching of categories; NMI uses the arithmetic mean."""
    table = contingency_matrix(truth, found)  # (true, found)
    rows, columns = linear_sum_assignment(-table)
    acc = table[rows, columns].sum() / len(truth)
    return Score(
        100 * float(acc),
        100 * float(adjusted_rand_score(truth, found)),
        100 * float(normalized_mutual_info_score(truth, found)),
    )


def score_example(model: Discovery, fine: Path) -> str:
    """The last line of the demo: how the found categories compare with the intended ones."""
    with fine.open(encoding="utf-8", newline="") as file:
        truth = [row["fine"] for row in csv.DictReader(file)]
    result = score(truth, model.labels_)
    return f"compared with the {len(set(truth))} intended categories: {result}"
