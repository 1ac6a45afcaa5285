"""`Discovery.show`: the report in the frame of a notebook, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.corpus import planted_corpus
from playwright.sync_api import expect

from subtaxa.discovery import Discovery

PAYLOADS = ['"></iframe><script>alert(1)</script>', "&quot;><img src=x onerror=alert(1)>", "</script>&lt;b&gt;"]


@pytest.fixture(scope="module")
def model(quick: dict[str, object]) -> Discovery:
    texts, labels, _ = planted_corpus()
    found = Discovery(6, **quick).fit([*texts, *PAYLOADS], [*labels, *["money"] * len(PAYLOADS)])  # type: ignore[arg-type]
    found.taxonomy_.rename(found.taxonomy_[0].id, PAYLOADS[0])
    return found


def test_the_report_works_in_the_frame_of_a_notebook(model: Discovery, browser: Any, tmp_path: Path) -> None:
    shown = model.show(height=500)
    assert repr(shown) == f"<interactive report: {len(model.data_.texts)} texts, 6 categories>"
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{shown._repr_html_()}", "utf-8")
    context = browser.new_context(accept_downloads=True, offline=True)
    page, errors, requested = context.new_page(), [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: (errors.append(dialog.message), dialog.accept()))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#tree th a")).to_have_count(6)
    frame.locator("nav").get_by_role("link", name="Map", exact=True).click()
    expect(frame.locator("#canvas")).to_be_visible()
    frame.locator("nav").get_by_role("link", name="Overview").click()
    frame.locator("#tree th a").first.click()
    expect(frame.locator("#view-category h2")).to_be_visible()
    frame.locator("#new-name").fill("renamed in the notebook")
    frame.get_by_role("button", name="Rename").click()
    frame.locator("nav").get_by_role("link", name="Corrections").click()
    with page.expect_download() as started:
        frame.locator("#download").click()
    assert "renamed in the notebook" in Path(started.value.path()).read_text()
    assert page.url == notebook.as_uri()
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None  # It is another origin.
    assert page.locator("body").inner_text().strip() == ""  # Nothing has left the frame.
    context.close()
    assert errors == []
    assert {url.partition(":")[0] for url in requested} <= {"file", "about", "data", "blob"}
