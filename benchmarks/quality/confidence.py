"""Check the calibration of a run: of the texts with a confidence of 80 %, are 80 % in the right category?

    python benchmarks/quality/confidence.py ../shared/data hwu64 RUN >> research/measurements/confidence.jsonl

RUN is a run folder that `benchmarks/quality/discover.py ... --out RUN` kept. A text is right if its category is matched
to its fine label when categories and fine labels are matched one to one, as for ACC. ECE is the expected calibration
error over 15 bins of equal width. Training texts have a coarse label, test texts have none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import options
from scipy.optimize import linear_sum_assignment

from subtaxa import Discovery
from subtaxa.bench.datasets import load

BINS = 15


def correct(fine: Sequence[str], category: np.ndarray) -> np.ndarray:
    """Which texts (N,) are in the category matched to their fine label."""
    truth, found = (np.unique(values, return_inverse=True)[1] for values in (np.array(fine), category))
    table = np.zeros((found.max() + 1, truth.max() + 1))
    np.add.at(table, (found, truth), 1)
    rows, columns = linear_sum_assignment(-table)
    match = np.full(len(table), -1)
    match[rows] = columns
    return match[found] == truth


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    gaps = np.abs(np.bincount(bins, confidence, BINS) - np.bincount(bins, right, BINS))
    return float(gaps[count > 0].sum() / len(confidence))


def summary(confidence: np.ndarray, right: np.ndarray) -> dict[str, float]:
    values = {"confidence": confidence.mean(), "acc": right.mean(), "ece": calibration_error(confidence, right)}
    return {name: round(float(value), 3) for name, value in values.items()}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    data, model = load(given.dataset, given.data), Discovery.load(given.run)
    assigned = model.assign(data.test.texts)
    record = {
        "command": f"benchmarks/quality/confidence.py {given.dataset} {given.run.name}",
        "train": summary(model.confidences_, correct(data.train.fine, model.labels_)),
        "test": summary(assigned.confidence, correct(data.test.fine, assigned.category_index)),
        "outliers": {"train": round(float(model.outliers_.mean()), 3)},
        "stability": round(float(np.mean([c.stability for c in model.taxonomy_ if c.stability is not None])), 3),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
