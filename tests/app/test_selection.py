"""Filters and counts in the app: they stay while the run is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.test_pages import saved_bar, two_siblings
from helpers.browser import Reader
from helpers.served_app import served
from playwright.sync_api import expect

from subtaxa.app.run_app import run_app
from subtaxa.app.workbench import Workbench


def test_a_filter_stays_while_the_run_is_changed(browser: Any, bench: Workbench, run: Path) -> None:
    first, second = two_siblings(run)
    with served(run_app(bench)) as link:
        reader = Reader(browser, None, link)
        page = reader.page
        page.locator("#filter").click()
        page.get_by_label("phone", exact=True).check()
        half = page.locator("#filtered").inner_text()
        reader.go("Treemap")
        page.locator(f"#tile{first.id}").click()
        page.locator("#other").select_option(str(second.id))
        page.get_by_role("button", name="Merge").click()
        expect(page.locator("#view-category dd").first).to_contain_text(f"of {first.size + second.size}")
        expect(saved_bar(reader)).to_contain_text("Saved")
        assert page.locator("#filtered").inner_text() == half
        reader.go("Treemap")
        expect(page.locator(f"#tile{second.id}")).to_have_count(0)
        reader.go("Columns")
        assert page.locator(".counted").first.locator("thead th").count() == 3 + 2
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert page.locator("#filtered").inner_text() == half
        reader.close()
