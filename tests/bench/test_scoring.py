"""ACC, ARI and NMI compared with numbers computed by hand."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from subtaxa.bench.scoring import Score, score, score_example

TRUTH = ["a", "a", "a", "b", "b", "c"]
FOUND = [0, 0, 1, 1, 1, 2]


def test_by_hand() -> None:
    """The table is a: 2 1 0, b: 0 2 0, c: 0 0 1.

    ACC: 2 + 2 + 1 of 6. ARI: pairs together in both 1 + 1, in the truth 3 + 1, in the found 1 + 3, of 15 in all.
    NMI: both partitions have sizes 3, 2, 1.
    """
    result = score(TRUTH, FOUND)
    assert result.acc == pytest.approx(100 * 5 / 6)
    expected = 4 * 4 / 15
    assert result.ari == pytest.approx(100 * (2 - expected) / (4 - expected))
    entropy = -sum(p * math.log(p) for p in (3 / 6, 2 / 6, 1 / 6))
    cells = [
        (2, 3, 2),
        (1, 3, 3),
        (2, 2, 3),
        (1, 1, 1),
    ]  # Count, size of the true and of the found one.
    information = sum(n / 6 * math.log(n * 6 / (t * f)) for n, t, f in cells)
    assert result.nmi == pytest.approx(100 * information / entropy)


def test_the_matching_is_optimal_not_greedy() -> None:
    """Table 5 4 / 4 0: the greedy matching has 5 of 13, the optimal one has 8."""
    truth = [0] * 9 + [1] * 4
    found = [0] * 5 + [1] * 4 + [0] * 4
    assert score(truth, found).acc == pytest.approx(100 * 8 / 13)


def test_the_same_partition_under_any_names_is_100() -> None:
    result = score(TRUTH, ["z", "z", "z", "x", "x", "y"])
    assert (result.acc, result.ari, result.nmi) == pytest.approx((100.0, 100.0, 100.0))


def test_names_and_order_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    truth, found = rng.integers(5, size=80), rng.integers(7, size=80)
    first = score(truth, found)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(80)
        again = score(rng.permutation(5)[truth][order], rng.permutation(7)[found][order])
        assert (again.acc, again.ari, again.nmi) == pytest.approx((first.acc, first.ari, first.nmi))


def test_arithmetic_mean_in_the_nmi() -> None:
    """Two true categories, each split in two: I = log 2, the entropies are log 2 and log 4, their mean 1.5 log 2."""
    assert score([0, 0, 1, 1], [0, 1, 2, 3]).nmi == pytest.approx(100 / 1.5)


@pytest.mark.parametrize(
    ("truth", "found", "acc"),
    [
        ([0, 0, 1, 1], [0, 1, 2, 3], 50.0),  # More found than true: two match nothing.
        ([0, 1, 2, 3], [0, 0, 1, 1], 50.0),  # Fewer found than true.
        ([0, 0, 0, 1], [5, 5, 5, 5], 75.0),  # One found category.
    ],
)
def test_different_numbers_of_categories(truth: list[int], found: list[int], acc: float) -> None:
    assert score(truth, found).acc == pytest.approx(acc)


def test_scores_are_readable() -> None:
    assert str(Score(87.66, 81.82, 94.69)) == "ACC 87.7  ARI 81.8  NMI 94.7"


def test_score_of_the_example(tmp_path: Path) -> None:
    file = tmp_path / "fine.csv"
    file.write_text("fine\n" + "\n".join(TRUTH) + "\n", encoding="utf-8")
    line = score_example(SimpleNamespace(labels_=np.array(FOUND)), file)  # type: ignore[arg-type]
    assert line == "compared with the 3 intended categories: ACC 83.3  ARI 31.8  NMI 68.5"
