"""Filters and colours by any column, in a real browser: every view follows, and the address restores them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.browser import Reader
from helpers.columned_run import with_columns
from playwright.sync_api import expect
from report.test_page import read_csv
from report.test_sliders import colours

from subtaxa.discovery import Discovery
from subtaxa.runs import layout

HOSTILE = {
    "<img src=x onerror=alert(1)>": ["</script><script>alert(2)</script>", "<svg onload=alert(3)>"],
    "=HYPERLINK(1)": ["=1+1", "@SUM(1)", "-2+3"],
    "\u202eright to left": ["مرحبا", "שלום", "plain"],
    "x" * 5_000: ["y" * 90 + str(i) for i in range(20)],
    "a&b=c#d?e/%f": ["a&b=c#d", "?e", "100%", "+ +", ".."],
    "__proto__": ["constructor", "__proto__", "toString"],
    "is.x": ["none.x", "is.x", "~outlier"],
    "~outlier": ["1e5", "no", "yes"],
    "many": [f"value {i}" for i in range(60)],
    "always different": [],
    "dates": ["0001-01-01", "9999-12-31T23:59:59Z", "2025-06-01T00:30:00+02:00"],
    "numbers": ["1e99", "-1e99", "0", "1e-99"],
    "mostly missing": [None] * 30 + ["there"],
}


@pytest.fixture
def reader(browser: Any, columned: Path) -> Iterator[Reader]:
    opened = Reader(browser, columned / layout.REPORT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def frame(example_model: Discovery, columned: Path) -> pd.DataFrame:
    """The texts with their columns, labels and categories."""
    loaded = Discovery.load(columned)
    return loaded.columns_.assign(label=loaded.data_.labels, category=loaded.labels_, text=loaded.data_.texts)


def facet(reader: Reader, name: str) -> Any:
    """The field of a column in the open panel."""
    if reader.page.locator("#facets").is_hidden():
        reader.page.locator("#filter").click()
    return reader.page.get_by_role("group", name=name, exact=True)


def tick(reader: Reader, column: str, value: str) -> None:
    facet(reader, column).get_by_label(value, exact=True).click()


def number(text: str) -> int:
    return int(text.split()[0].replace(",", ""))


def sizes(reader: Reader) -> dict[str, int]:
    """The texts of each category in the overview, by id."""
    rows = reader.page.locator("#tree tr:not(.printed):has(th a)")
    return {
        row.locator("a").get_attribute("href").removeprefix("#category-"): number(
            row.locator("td").first.text_content()
        )
        for row in rows.all()
    }


def test_every_view_follows_a_filter(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    tick(reader, "channel", "phone")
    some = frame[frame.channel == "phone"]
    expected = {str(i): n for i, n in some.category.value_counts().items()}
    expect(page.locator("#filtered")).to_have_text(f"{len(some)} of {len(frame)} texts")
    expect(page.locator("#n-texts")).to_have_text(f"{len(some)} of {len(frame)}")
    assert sizes(reader) == expected
    assert page.locator("#count").inner_text() == f"{len(expected)} of {frame.category.nunique()}"
    assert page.locator("#tree .bar a").count() == len(expected)
    reader.go("Treemap")
    assert page.locator("#tiles a").count() == len(expected)
    largest = max(expected, key=lambda i: expected[i])
    assert f": {expected[largest]} texts" in page.locator(f"#tile{largest}").get_attribute("aria-label")
    page.locator(f"#tile{largest}").click()
    expect(page.locator("#texts h3")).to_have_text(
        f"{expected[largest]} of {(frame.category == int(largest)).sum()} texts pass the filters"
    )
    own = some[some.category == int(largest)]
    assert sorted(page.locator("#texts li bdi").all_inner_texts())[:100] == sorted(own.text)[:100]
    reader.go("Columns")
    page.locator("#counted").select_option(label="grade")
    totals = page.locator(".counted").first.locator("tbody td:nth-child(2)").all_inner_texts()
    assert sum(map(number, totals)) == len(some)
    reader.go("Overview")
    page.locator("#chips button").click()
    expect(page.locator("#n-texts")).to_have_text(str(len(frame)))
    assert page.locator("#filtered").inner_text() == ""
    assert page.evaluate("document.activeElement.id") == "filter"


def test_dates_numbers_and_missing_values(reader: Reader, frame: pd.DataFrame) -> None:
    page, shown = reader.page, reader.page.locator("#filtered")
    facet(reader, "date").get_by_label("from").fill("2025-10-01")
    page.keyboard.press("Tab")
    late = frame.date >= "2025-10-01"
    expect(shown).to_have_text(f"{late.sum()} of {len(frame)} texts")
    facet(reader, "date").get_by_label("to").fill("2025-10-31")
    page.keyboard.press("Tab")
    october = late & (frame.date < "2025-11-01")
    expect(shown).to_have_text(f"{october.sum()} of {len(frame)} texts")
    tick(reader, "date", "no value")
    some = october | frame.date.isna()
    expect(shown).to_have_text(f"{some.sum()} of {len(frame)} texts")
    facet(reader, "amount").get_by_label("to").fill("15.5")
    page.keyboard.press("Tab")
    expect(shown).to_have_text(f"{(some & (frame.amount <= 15.5)).sum()} of {len(frame)} texts")
    assert page.locator("#chips li").all_inner_texts() == [
        "date: 1 Oct 2025 to 31 Oct 2025 or no value\n×",
        "amount: up to 15.5\n×",
    ]
    page.locator("#filter-clear").click()
    tick(reader, "amount", "no value")  # Without a range, only those.
    expect(shown).to_have_text(f"{frame.amount.isna().sum()} of {len(frame)} texts")
    facet(reader, "grade").get_by_label("from").fill("4")
    page.keyboard.press("Tab")
    facet(reader, "grade").get_by_label("to").fill("3")
    page.keyboard.press("Tab")
    expect(facet(reader, "grade").get_by_role("alert")).to_have_text("The first is after the last.")


def test_a_value_is_counted_under_the_other_filters(reader: Reader, frame: pd.DataFrame) -> None:
    tick(reader, "channel", "web")
    facet(reader, "grade").get_by_label("from").fill("5")
    reader.page.keyboard.press("Tab")
    counts = frame[frame.grade == 5].channel.value_counts()
    found = facet(reader, "channel").locator("li").all_inner_texts()
    assert dict(line.split("\n") for line in found) == {name: str(n) for name, n in counts.items()}


def test_no_text_passes(reader: Reader) -> None:
    facet(reader, "amount").get_by_label("from").fill("1000000")
    reader.page.keyboard.press("Tab")
    expect(reader.page.locator("#filtered")).to_have_text("No text passes all filters: remove one.")
    for view in ("Map", "Treemap", "Category", "Columns", "Overview"):
        reader.go(view)
    assert sizes(reader) == {}


def test_back_and_a_link_restore_the_selection(reader: Reader, browser: Any, columned: Path) -> None:
    page = reader.page
    tick(reader, "channel", "web")
    tick(reader, "channel", "phone")
    reader.go("Map")
    page.locator("#colour").select_option(label="amount")
    page.locator("#shown").select_option(label="billing")
    reader.go("Treemap")
    expect(page.locator("#tiles button")).to_have_count(1)
    page.locator("#tiles a").first.click()
    title = page.locator("#category-title bdi").inner_text()
    reader.go("Map")
    expect(page.locator("#selected h3")).to_contain_text(title)
    link = page.url
    assert all(part in link for part in ("#map?", "column=amount", "label=billing", "open=", "is.channel=web"))

    other = Reader(browser, columned / layout.REPORT)
    other.page.goto(link)
    other.page.reload()
    other.page.wait_for_selector("body[data-ready]")
    for someone in (reader, other):
        assert someone.page.locator("#chips li").all_inner_texts() == ["channel: web or phone\n×"]
        assert someone.page.locator("#colour option:checked").inner_text() == "amount"
        assert someone.page.locator("#shown option:checked").inner_text() == "billing"
        expect(someone.page.locator("#selected h3")).to_contain_text(title)
    other.close()

    for _ in range(3):  # To the category, the treemap, and the map of all labels with its colours.
        page.go_back()
    expect(page.locator("#shown option:checked")).to_have_text("billing")
    page.go_back()
    expect(page.locator("#shown option:checked")).to_have_text("all labels")
    page.go_back()
    expect(page.locator("#colour option:checked")).to_have_text("label")
    page.go_back()
    expect(page.locator("body")).to_have_attribute("data-view", "overview")
    page.go_back()
    expect(page.locator("#chips li")).to_have_count(1)
    page.go_back()
    expect(page.locator("#chips li")).to_have_count(0)
    page.go_forward()
    expect(page.locator("#chips li")).to_have_count(1)


def test_a_link_with_an_unknown_column_says_so(browser: Any, columned: Path) -> None:
    reader = Reader(browser, columned / layout.REPORT)
    reader.page.goto(
        f"{(columned / layout.REPORT).as_uri()}#map?is.region=north&is.channel=web&is.channel=fax&open=99999"
    )
    expect(reader.page.locator("#foreign")).to_have_text(
        "This run has no column “\u2068region\u2069”, which the link asks for."
    )
    assert reader.page.locator("#chips li").all_inner_texts() == ["channel: web\n×"]
    reader.close()


def test_the_map_is_coloured_by_a_column_and_hides_the_rest(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    reader.go("Map")
    page.locator("#colour").select_option(label="channel")
    assert page.locator("#key li").all_inner_texts() == frame.channel.value_counts().index.tolist()
    page.wait_for_timeout(200)
    assert len(colours(reader)) == 3
    page.locator("#colour").select_option(label="amount")
    assert page.locator("#key li").count() == 6  # five ranges and no value
    page.locator("#colour").select_option(label="channel")
    tick(reader, "channel", "web")
    page.locator("#filter").click()
    page.get_by_label("Lasso").check()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in [(box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2), (2, 2)]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    assert page.locator("#selected h3").inner_text() == f"{(frame.channel == 'web').sum()} texts selected"


def test_downloads_have_what_is_shown(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    tick(reader, "channel", "web")
    with page.expect_download() as started:
        page.locator("#assignments-csv").click()
    assert started.value.suggested_filename == "assignments-filtered.csv"
    rows = read_csv(Path(started.value.path()))
    assert len(rows) == (frame.channel == "web").sum()
    categories = read_csv(reader.downloaded(page.locator("#categories-csv")))
    assert {row["category_id"]: int(row["size"]) for row in categories} == sizes(reader)


def test_corrections_still_concern_whole_categories(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    tick(reader, "channel", "phone")
    category = page.locator("#tree th a").first.get_attribute("href")
    page.locator("#tree th a").first.click()
    assert int(page.locator("#into").get_attribute("max")) == (frame.category == int(category.split("-")[1])).sum()
    into = page.locator("#other option").first.get_attribute("value")
    page.locator("#other").select_option(into)
    page.get_by_role("button", name="Merge").click()
    together = frame.category.isin([int(category.split("-")[1]), int(into)])
    shown = (together & (frame.channel == "phone")).sum()
    expect(page.locator("#view-category dd").first).to_have_text(f"{shown} of {together.sum()}")
    page.locator("#filter").click()
    page.locator("#chips button").click()
    expect(page.locator("#view-category dd").first).to_have_text(str(together.sum()))


def test_a_run_without_columns_can_be_filtered_by_confidence(
    browser: Any, example_model: Discovery, tmp_path: Path
) -> None:
    reader = Reader(browser, with_columns(example_model, {}, tmp_path / "run") / layout.REPORT)
    assert reader.page.locator("nav a", has_text="Columns").count() == 0
    facet(reader, "Confidence in the run").get_by_label("to").fill("40")
    reader.page.keyboard.press("Tab")
    expect(reader.page.locator("#filtered")).to_contain_text("of 679 texts")
    reader.page.evaluate("location.hash = 'columns'")
    expect(reader.page.locator("#view-overview")).to_be_visible()
    reader.close()


def test_hostile_columns_run_nothing_and_can_be_filtered(
    browser: Any, example_model: Discovery, tmp_path: Path
) -> None:
    n = len(example_model.labels_)
    columns = {
        name: [values[i % len(values)] if values else f"{i} of many" for i in range(n)]
        for name, values in HOSTILE.items()
    }
    reader = Reader(browser, with_columns(example_model, columns, tmp_path / "run") / layout.REPORT)
    page = reader.page
    reader.go("Columns")
    names = page.locator("#counted option").all_inner_texts()
    assert len(names) == len(HOSTILE) - 1 + 2  # without the one that is always different, with the two of the run
    page.set_viewport_size({"width": 390, "height": 850})
    for at, name in enumerate(names):
        reader.go("Columns")
        page.locator("#counted").select_option(f"column{at}")
        for view in ("Columns", "Map", "Treemap", "Category"):
            page.evaluate("(view) => (location.hash = view)", view.lower())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, (view, name)
    page.locator("#filter").click()
    assert page.locator("#facets .note").inner_text() == "Columns that cannot be chosen here: always different (texts)."
    for at, name in enumerate(names):
        box = page.locator("#facets fieldset").nth(at).locator("input").first
        if box.get_attribute("type") != "checkbox":
            continue
        box.check()
        before = page.locator("#filtered").inner_text()
        page.reload()  # From the address.
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#filtered").inner_text() == before, name
        assert page.locator("#chips li").count() == 1, name
        page.locator("#chips button").click()
        page.locator("#filter").click()
    assert page.locator("img, [onerror], [onload], #facets script").count() == 0
    reader.close()
