"""Counts by column, counts over time and the treemap of the report, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.browser import Reader, serious_problems
from helpers.columned_run import BY_PHONE, GROWING, NEW, SHRINKING, planted, with_columns
from playwright.sync_api import expect
from scipy import stats

from subtaxa.discovery import Discovery
from subtaxa.runs import layout

LABELS = 8


@pytest.fixture
def reader(browser: Any, columned: Path) -> Iterator[Reader]:
    opened = Reader(browser, columned / layout.REPORT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def frame(columned: Path) -> pd.DataFrame:
    loaded = Discovery.load(columned)
    return loaded.columns_.assign(label=loaded.data_.labels, category=loaded.labels_)


def go_by(reader: Reader, column: str) -> None:
    reader.go("Columns")
    reader.page.locator("#counted").select_option(label=column)


def table(reader: Reader) -> pd.DataFrame:
    """The counts of all categories: the cells of each row as they are written, by id."""
    rows = reader.page.locator(".counted tbody tr:has(a)").all()
    return pd.DataFrame(
        {row.locator("a").get_attribute("href").split("-")[1]: row.locator("td").all_inner_texts() for row in rows}
    ).T


def listed(reader: Reader, kind: str) -> list[str]:
    """The ids in one of the lists of what changed."""
    links = reader.page.locator("#changes .sides > div", has_text=kind).locator("a").all()
    return [link.get_attribute("href").split("-")[1] for link in links]


def test_the_table_counts_each_value(reader: Reader, frame: pd.DataFrame, example_model: Discovery) -> None:
    go_by(reader, "channel")
    head = reader.page.locator(".counted").first.locator("thead th").all_inner_texts()
    names = [name.strip() for name in head[3:]]
    expected = pd.crosstab(frame.category, frame.channel)[names]
    found = table(reader)
    counts = found.iloc[:, 2:].map(lambda cell: int(cell.removeprefix("▲ ")))
    assert counts.to_numpy().tolist() == expected.loc[counts.index.astype(int)].to_numpy().tolist()
    assert found[0].astype(int).tolist() == counts.sum(axis=1).tolist()
    marked = found.iloc[:, 2:].map(lambda cell: cell.startswith("▲"))
    chances = pd.DataFrame(
        {
            at: stats.binom.sf(counts.iloc[:, at] - 1, counts.sum(axis=1), counts.iloc[:, at].sum() / len(frame))
            for at in range(len(names))
        }
    )
    limited = stats.false_discovery_control(chances.to_numpy().ravel()).reshape(chances.shape) <= 0.05
    assert marked.to_numpy().tolist() == limited.tolist()
    by_phone = str(planted(example_model)[BY_PHONE])
    assert marked.loc[by_phone].tolist() == [name == "phone" for name in names]


def test_numbers_are_counted_in_ranges_and_missing_values_apart(reader: Reader, frame: pd.DataFrame) -> None:
    go_by(reader, "amount")
    head = reader.page.locator(".counted").first.locator("thead th").all_inner_texts()
    assert len(head) == 3 + 6
    assert head[-1].strip() == "no value"
    found = table(reader).iloc[:, 2:].map(lambda cell: int(cell.removeprefix("▲ ")))
    assert found.iloc[:, -1].sum() == frame.amount.isna().sum()
    assert (
        found.iloc[:, :-1].sum().between(frame.amount.notna().sum() / 5 - 5, frame.amount.notna().sum() / 5 + 5).all()
    )
    go_by(reader, "grade")
    head = reader.page.locator(".counted").first.locator("thead th").all_inner_texts()
    assert [name.strip() for name in head[3:]] == ["1", "2", "3", "4", "5"]


def test_what_is_new_grows_and_shrinks(reader: Reader, example_model: Discovery) -> None:
    page, ids = reader.page, [str(i) for i in planted(example_model)]
    reader.go("Columns")  # The dates come first without a choice.
    assert page.locator("#counted option:checked").inner_text() == "date"
    assert page.locator("#window option:checked").inner_text() == "91 days"
    assert listed(reader, "New") == [ids[NEW]]
    assert ids[GROWING] in listed(reader, "Growing")
    assert ids[SHRINKING] in listed(reader, "Shrinking")
    assert len(listed(reader, "Growing")) + len(listed(reader, "Shrinking")) <= 4
    assert page.locator("#counts figure.new").count() == 1
    rule = page.locator("#changes details")
    rule.locator("summary").click()
    assert "binomial" in rule.inner_text()
    page.locator("#window").select_option("30")
    expect(page.locator("#changes h3")).to_contain_text("the last 30 days against the 30 days before")


def test_the_periods_are_those_of_the_dates(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    reader.go("Columns")
    says = page.locator("#counts .card:has(h3) svg").first.get_attribute("aria-label")
    months = frame.date.dropna().dt.to_period("M").value_counts().sort_index()
    expected = ", ".join(f"{month.strftime('%b %Y')}: {n}" for month, n in months.items())
    assert says == f"Texts by month: {expected}"
    page.locator("#unit").select_option("quarter")
    says = page.locator("#counts .card:has(h3) svg").first.get_attribute("aria-label")
    quarters = frame.date.dropna().dt.to_period("Q").value_counts().sort_index()
    assert says == "Texts by quarter: " + ", ".join(f"Q{q.quarter} {q.year}: {n}" for q, n in quarters.items())
    assert page.locator("#counts").inner_text().count(f"{frame.date.isna().sum()} texts without a date") == 1
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.locator("#filter").click()
    page.get_by_role("group", name="date", exact=True).get_by_label("from").fill("2025-12-18")
    page.keyboard.press("Tab")
    expect(page.locator("#unit option:checked")).to_have_text("day")


@pytest.mark.parametrize(
    ("days", "unit"), [(1, "day"), (30, "day"), (100, "week"), (1000, "month"), (3000, "quarter"), (5000, "year")]
)
def test_the_unit_follows_the_range(
    browser: Any, example_model: Discovery, tmp_path: Path, days: int, unit: str
) -> None:
    n = len(example_model.labels_)
    dates = [str(date(2001, 1, 1) + timedelta(days=i * days // (n - 1))) for i in range(n)]
    far = ["9999-12-31", "1970-01-01"]  # somebody's "unknown"
    run = with_columns(example_model, {"when": [*far, *dates[2:]]}, tmp_path / "run")
    reader = Reader(browser, run / layout.REPORT)
    reader.go("Columns")
    assert reader.page.locator("#unit option:checked").inner_text() == unit
    assert "2 texts with a date far outside" in reader.page.locator("#counts").inner_text()
    assert reader.page.locator("#counts .recent").first.is_visible()
    reader.close()


def tiles(reader: Reader) -> list[Any]:
    return reader.page.locator("#tiles a").all()


def test_the_treemap_has_a_tile_for_each_category_with_its_size(reader: Reader, frame: pd.DataFrame) -> None:
    reader.go("Treemap")
    sizes = frame.category.value_counts()
    assert len(tiles(reader)) == len(sizes)
    assert reader.page.locator("#tiles button").count() == LABELS
    area = {}
    for tile in tiles(reader):
        box = tile.bounding_box()
        area[int(tile.get_attribute("href").split("-")[1])] = box["width"] * box["height"]
    large = [i for i in sizes.index if sizes[i] >= 50]
    per_text = [area[i] / sizes[i] for i in large]
    assert max(per_text) < 1.5 * min(per_text)


def test_the_treemap_is_used_with_the_keyboard(reader: Reader) -> None:
    page = reader.page
    reader.go("Treemap")
    page.locator("#tiles a").first.focus()
    visited = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        visited.add(page.evaluate("document.activeElement.id"))
    assert all(map(is_tile, visited))
    assert len(visited) > 2
    page.locator("#tiles button").nth(1).press("Enter")
    assert page.locator("#tiles button").count() == 1
    assert is_tile(page.evaluate("document.activeElement.id"))  # The focus stays.
    page.locator("#treemap-back").click()
    assert page.locator("#tiles button").count() == LABELS
    page.locator("#tiles a").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#category-title")).to_be_visible()


def is_tile(name: str) -> bool:
    return name.startswith(("tile", "frame"))


def test_sliders_change_the_new_views(reader: Reader) -> None:
    page = reader.page
    reader.go("Treemap")
    page.locator("#number").fill("12")
    expect(page.locator("#tiles a")).to_have_count(12)
    reader.go("Columns")
    expect(page.locator("#counts figure")).to_have_count(12)
    page.locator("#number").fill("15")
    expect(page.locator("#counts figure")).to_have_count(15)
    page.locator("#counted").select_option(label="channel")
    assert len(table(reader)) == 15


def test_colours_of_the_treemap_say_what_they_show(reader: Reader, frame: pd.DataFrame) -> None:
    page = reader.page
    reader.go("Treemap")
    page.locator("#treemap-colour").select_option(label="channel")
    for tile in tiles(reader)[:5]:
        own = frame[frame.category == int(tile.get_attribute("href").split("-")[1])].channel
        assert tile.get_attribute("aria-label").endswith(f"% {own.mode()[0]}")
    page.locator("#treemap-colour").select_option(label="grade")
    assert "median " in tiles(reader)[0].get_attribute("aria-label")
    assert page.locator("#treemap-key li").all_inner_texts() == ["1", "2", "3", "4", "5"]


def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(browser: Any, columned: Path) -> None:
    reader = Reader(browser, columned / layout.REPORT, viewport={"width": 390, "height": 900})
    page = reader.page
    page.locator("#filter").click()
    page.get_by_label("web", exact=True).check()
    for view in (
        "overview",
        "map?column=amount",
        "treemap",
        "treemap?column=amount",
        "columns",
        "columns?column=channel",
    ):
        page.evaluate("(view) => (location.hash = view)", view)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        assert serious_problems(page) == [], view
    reader.close()
