"""The number of categories that a user asks for, checked against the texts."""

from __future__ import annotations

import pytest

from subtaxa.clustering.requested_number import RequestedNumber, requested_number
from subtaxa.errors import SettingError

TEXTS = ["a", "b", "c", "c", "d", "e"]
LABELS = ["x", "x", "y", "y", "y", "z"]


def test_totals_and_numbers_of_labels_are_recognised() -> None:
    assert requested_number("auto", TEXTS, LABELS) == RequestedNumber(None, {})
    assert requested_number(4, TEXTS, LABELS) == RequestedNumber(4, {})
    assert requested_number({"y": 2}, TEXTS, LABELS) == RequestedNumber(None, {1: 2})
    assert requested_number({"x": 1, "y": 2, "z": 1}, TEXTS, LABELS) == RequestedNumber(4, {0: 1, 1: 2, 2: 1})


@pytest.mark.parametrize(
    ("categories", "said"),
    [(2, "3 to 5"), (6, "3 to 5"), ({"y": 3}, "2 different texts"), ({"w": 1}, "the labels are x, y, z")],
)
def test_impossible_numbers_are_refused(categories: int | dict[str, int], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        requested_number(categories, TEXTS, LABELS)
