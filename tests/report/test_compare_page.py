"""The page that compares two runs: what it shows, and that names cannot do harm. A browser reads it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import serious_problems

from subtaxa.report.compare_flows import flows_by_label
from subtaxa.report.compare_page import render_comparison
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.comparison import CategorisedTexts, Comparison, compare

HOSTILE = "</style></text><script>alert(1)</script>\x1b\u202e <img src=x onerror=alert(2)>"


def side(sizes: dict[str, int], texts: list[int]) -> CategorisedTexts:
    """A run whose texts are numbers; each category has the next ones."""
    taxonomy = Taxonomy(tuple(Category(i, "money", name, (), (), size) for i, (name, size) in enumerate(sizes.items())))
    ids = [i for i, size in enumerate(sizes.values()) for _ in range(size)]
    return CategorisedTexts(taxonomy, [str(i) for i in texts], ["money"] * len(texts), ids)


@pytest.fixture
def found() -> Comparison:
    """One category stays, one is split, two are merged, one is gone and one is new."""
    before = side({HOSTILE: 30, "big": 40, "one": 10, "two": 12, "old": 5}, list(range(97)))
    after = side({"stays": 30, "first": 25, "second": 15, "both": 22, "fresh": 8}, [*range(92), *range(200, 208)])
    return compare(before, after)


def test_bands_fill_their_categories_and_touch_no_other(found: Comparison) -> None:
    (flows,) = flows_by_label(found)
    assert found.counts() == {"same": 1, "split": 1, "merged": 1, "regrouped": 0, "new": 1, "gone": 1}
    for boxes, at, end in ((flows.left, "left", "before"), (flows.right, "right", "after")):
        assert sorted(box.top for box in boxes) == [box.top for box in boxes]
        for one, other in pairwise(boxes):
            assert one.top + one.height < other.top
        for box in boxes:
            own = sorted((getattr(f, at), f.height) for f in flows.flows if getattr(f, end) is box.category)
            top = box.top
            for begin, height in own:
                assert begin == pytest.approx(top)
                top += height
            assert top <= box.top + box.height + 1e-6
    assert all(box.top + box.height <= flows.height for box in (*flows.left, *flows.right))


@pytest.mark.parametrize("width", [360, 1400])
def test_a_reader_sees_the_same_numbers_as_in_the_diagram(
    found: Comparison, browser: Any, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "comparison.html"
    file.write_text(render_comparison(found, "before <b>", HOSTILE), "utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.accept()))
    page.goto(file.as_uri())
    assert page.locator("script, img").count() == 0
    assert page.locator(".sankey path").count() == 5
    page.keyboard.press("Tab")  # skip to content
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
    assert [(row[0], row[2]) for row in rows] == [
        ("same", "30"),
        ("split", "25"),
        ("split", "15"),
        ("merged", "12"),
        ("merged", "10"),
        ("new", "0"),
        ("gone", "0"),
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    serious = serious_problems(page)
    context.close()
    assert serious == []
    assert problems == []
