"""Array helpers: distinct keys and rows."""

from __future__ import annotations

import numpy as np
import pytest

from subtaxa.runtime.arrays import distinct, unique_rows


def test_distinct_keys_are_numbered_in_their_order() -> None:
    first, kind = distinct(["b", "a", "b", "c", "a"])
    assert first.tolist() == [0, 1, 3]
    assert kind.tolist() == [0, 1, 0, 2, 1]
    assert [len(index) for index in distinct([])] == [0, 0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_unique_rows_are_those_of_numpy(kind: type) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-2, 2, (300, 3)).astype(kind)
    rows[::7] *= -0.0  # Zeros of both signs are equal.
    for some in (rows, rows.T[:3].T, rng.normal(size=(50, 4)).astype(kind), rows[:1]):
        points, number = unique_rows(some)
        expected, inverse = np.unique(some, axis=0, return_inverse=True)
        np.testing.assert_array_equal(points, expected)
        np.testing.assert_array_equal(number, inverse.ravel())
        assert points.dtype == some.dtype
