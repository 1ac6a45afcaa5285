"""The cluster rule and the estimator of the guide `docs/how-to/extend.md` work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from subtaxa.clustering.forest import Forest
from subtaxa.runtime.arrays import unit

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "extend.md").read_text("utf-8")


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    """Return what the Python blocks of the guide define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(compile(block, "extend.md", "exec"), names)  # noqa: S102 - our own guide
    return names


@pytest.fixture(scope="module")
def forest() -> Forest:
    """Return two labels with three and two clear groups of ten texts."""
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(5, 8, dtype=np.float32), 10, axis=0)  # (50, 8)
    rows = unit(centres + 0.05 * rng.standard_normal(centres.shape).astype(np.float32))
    return Forest(rows, np.repeat([0, 1], [30, 20]))


def test_the_rule_finds_the_groups(guide: dict[str, Any], forest: Forest) -> None:
    clusters = guide["BisectingRule"]().fit(forest, [3, 2])
    assert clusters.parents.tolist() == [0, 0, 0, 1, 1]
    nearest = (forest.features @ clusters.centroids.T).argmax(1).reshape(5, 10)  # (groups, texts)
    assert (nearest == nearest[:, :1]).all()
    assert len(set(nearest[:, 0])) == 5


def test_the_estimator_counts_per_label(guide: dict[str, Any], forest: Forest) -> None:
    estimate = guide["SquareRoot"]().estimate(forest, {1: 2})
    assert estimate.numbers.tolist() == [[4, 2]]
