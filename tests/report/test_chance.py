"""The binomial tests of the page, compared with scipy's, in the browser that runs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from subtaxa.report.page import read_asset


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """A page with the functions of chance.js."""
    opened = browser.new_page()
    opened.evaluate(
        f"(() => {{ {read_asset('js/chance.js')}; window.chance = {{ atLeast, bothSides, beyondChance }}; }})()"
    )
    yield opened
    opened.close()


CASES = [(0, 0, 0.5), (0, 5, 0.3), (5, 5, 0.3), (3, 10, 0.5), (9, 10, 0.01), (1, 10, 0.99), (40, 1358, 0.02)]
CASES += [(100, 200_000, 0.0005), (150_000, 200_000, 0.749), (99, 100, 0.1), (3, 3, 1.0), (2, 3, 1.0), (1, 3, 0.0)]


@pytest.mark.parametrize(("k", "n", "p"), CASES)
def test_the_tail_is_that_of_the_binomial_distribution(page: Any, k: int, n: int, p: float) -> None:
    found = page.evaluate("([k, n, p]) => chance.atLeast(k, n, p)", [k, n, p])
    assert found == pytest.approx(stats.binom.sf(k - 1, n, p), rel=1e-7, abs=1e-14)


def test_both_sides(page: Any) -> None:
    found = page.evaluate("chance.bothSides(2, 20, 0.5)")
    assert found == pytest.approx(stats.binomtest(2, 20, 0.5).pvalue)
    assert page.evaluate("chance.bothSides(10, 20, 0.5)") == 1


def test_the_share_of_false_findings_is_limited(page: Any) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(size=80), rng.uniform(0, 0.003, 20)]).tolist()
    found = page.evaluate("(values) => chance.beyondChance(values, 0.05)", values)
    assert found == (stats.false_discovery_control(values) <= 0.05).tolist()
    assert page.evaluate("chance.beyondChance([], 0.05)") == []
