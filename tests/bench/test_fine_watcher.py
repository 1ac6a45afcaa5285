"""The watcher that uses the fine labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.planted import blobs, unit_rows

from subtaxa.bench.fine_watcher import FineWatcher

NAMES = np.array(["refund", "charge", "parcel", "letter", "password"])


def slow_mined(indices: torch.Tensor, kept: torch.Tensor, fine: list[str]) -> tuple[float, float]:
    right = counted = 0
    for i, row in enumerate(indices.tolist()):
        for place, j in enumerate(row):
            if j != i and kept[i, place]:
                counted += 1
                right += fine[i] == fine[j]
    return right / counted if counted else math.nan, counted / len(indices)


def watcher(fine: list[str]) -> FineWatcher:
    return FineWatcher(fine, [], 3, 0, lambda: np.empty((0, 1), dtype=np.float32))


@pytest.mark.parametrize("seed", range(3))
def test_mined_against_a_slow_loop(seed: int) -> None:
    torch.manual_seed(seed)
    n, k = 40, 7
    fine = [str(NAMES[i]) for i in torch.randint(5, (n,)).tolist()]
    indices = torch.randint(n, (n, k))
    indices[:, 0] = torch.arange(n)  # As in retrieval, the text itself comes first.
    stages = {
        "knn": torch.ones(n, k, dtype=torch.bool),
        "label": torch.rand(n, k) < 0.6,
        "rank": torch.rand(n, k) < 0.1,
    }
    log = watcher(fine).mined(indices, stages)
    assert list(log) == [f"{what}_{stage}" for stage in stages for what in ("accuracy", "count")]
    for stage, kept in stages.items():
        accuracy, count = slow_mined(indices, kept, fine)
        assert log[f"accuracy_{stage}"] == pytest.approx(accuracy)
        assert log[f"count_{stage}"] == pytest.approx(count)


def test_a_text_does_not_count_as_its_own_neighbour() -> None:
    indices = torch.tensor([[0, 1], [1, 0], [2, 2]])  # The third has only itself, also as padding.
    log = watcher(["a", "b", "b"]).mined(indices, {"knn": torch.ones(3, 2, dtype=torch.bool)})
    assert log == {"accuracy_knn": 0.0, "count_knn": pytest.approx(2 / 3)}


def test_accuracy_is_nan_where_nothing_is_kept() -> None:
    indices = torch.tensor([[0, 1], [1, 0]])
    alone = torch.tensor([[True, False], [True, False]])
    log = watcher(["a", "a"]).mined(indices, {"knn": torch.ones(2, 2, dtype=torch.bool), "rank": alone})
    assert log["accuracy_knn"] == 1.0
    assert math.isnan(log["accuracy_rank"])
    assert log["count_rank"] == 0.0


def test_the_watcher_scores_the_test_texts_after_each_epoch() -> None:
    test = blobs([[6, 9], [5, 7, 4]])
    features = [
        test.features,
        unit_rows(np.ones((len(test), 3)) + np.random.default_rng(0).normal(size=(len(test), 3))),
    ]
    watching = FineWatcher([], NAMES[test.truth].tolist(), 5, 0, lambda: features.pop(0))
    assert watching.epoch() == pytest.approx({"acc": 100, "ari": 100, "nmi": 100})
    assert watching.epoch()["acc"] < 100
