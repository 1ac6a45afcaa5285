"""The number of categories by label, as lines for a terminal."""

from __future__ import annotations

import pytest

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report.text_tables import BLOCKS, MAX_WIDTH, number_lines, plausible, sparkline


def test_each_label_has_its_number_its_range_and_its_curve() -> None:
    numbers = {
        "billing": CategoryCount(3, 2, 5, ((1, 0.1), (3, 0.5), (5, 0.3))),
        "given": CategoryCount(4, 4, 4, ()),
        "a label that is much too long for a line": CategoryCount(1, 1, 1, ((1, 0.4),)),
    }
    billing, given, long = number_lines(numbers)
    assert billing.split() == ["billing", "3,", "plausible", "2", "to", "5", "1", "▁█▄", "5"]
    assert given.split() == ["given", "4", "as", "given"]
    assert long.split()[-3:] == ["1,", "plausible", "1"]
    assert len({line.index(",") for line in (billing, long)}) == 1


def test_without_labels_there_are_no_lines() -> None:
    assert list(number_lines({})) == []


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [-1.0, 0.0, 1.0], [float(i) for i in range(1000)]])
def test_a_curve_is_a_row_of_blocks_with_a_limited_length(values: list[float]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == min(MAX_WIDTH, len(values))
    assert set(drawn) <= set(BLOCKS)
    if max(values) > min(values):
        assert (drawn[0], drawn[-1]) == (BLOCKS[0], BLOCKS[-1])


def test_the_plausible_numbers_in_words() -> None:
    assert plausible(CategoryCount(3, 3, 3, ())) == "3"
    assert plausible(CategoryCount(3, 2, 9, ())) == "2 to 9"
