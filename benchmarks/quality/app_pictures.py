"""Take the screenshots of the app for the documentation, in headless Chromium.

    python benchmarks/quality/app_pictures.py RUN FILE [--everything FOLDER]

RUN is a run folder, which is copied before it is used. FILE is a file to drop on the start page. The program writes
docs/images/app-*.png. With --everything, it writes every view in light and dark, wide and narrow into a folder.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from helpers.served_app import served  # noqa: E402

from subtaxa.app.desk import Desk  # noqa: E402
from subtaxa.app.run_app import run_app  # noqa: E402
from subtaxa.app.start_app import start_app  # noqa: E402
from subtaxa.app.workbench import Workbench  # noqa: E402

IMAGES = ROOT / "docs" / "images"
VIEWS = ("overview", "map", "category", "similar", "questions", "quality", "new", "corrections")
WIDE, NARROW = {"width": 1200, "height": 850}, {"width": 390, "height": 844}
SENTENCE = "it is too loud"


def fill(page: Page, view: str) -> None:
    """Open a view and use it, so that there is something to see."""
    page.evaluate(f"location.hash = '{view}'")
    page.wait_for_selector(f"#view-{view}:not([hidden])")
    if view == "category" and not page.locator("#parts h4").count():
        page.get_by_role("button", name="Preview").click()
        page.wait_for_selector("#parts h4")
    if view == "similar" and not page.locator("#similar-found li").count():
        page.locator("#sentence").fill(SENTENCE)
        page.get_by_role("button", name="Find").click()
        page.wait_for_selector("#similar-found li")
    if view == "questions":
        page.wait_for_selector(".question")
    if view == "map":
        page.wait_for_selector("#canvas[data-names]")


@contextmanager
def opened(browser: Any, link: str, viewport: dict[str, int], scheme: str = "light") -> Iterator[Page]:
    context = browser.new_context(viewport=viewport, color_scheme=scheme, device_scale_factor=1)
    context.set_default_timeout(600_000)
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--everything", type=Path)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        place = Path(name) / "my-data"
        shutil.copytree(given.run, place / "support" / "run")
        looks = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")] if given.everything else [(WIDE, "light")]
        with served(run_app(Workbench(place / "support" / "run"))) as link:
            for viewport, scheme in looks:
                with opened(browser, link, viewport, scheme) as page:
                    for view in VIEWS if given.everything else ("category", "questions", "similar", "quality"):
                        fill(page, view)
                        target = IMAGES / f"app-{'find' if view == 'similar' else view}.png"
                        if given.everything:
                            target = given.everything / f"{view}-{scheme}-{viewport['width']}.png"
                        page.screenshot(path=target)
        desk = Desk(place)
        with served(start_app(desk)) as link:
            for viewport, scheme in looks:
                with opened(browser, link, viewport, scheme) as page:
                    page.locator("#file").set_input_files(given.file)
                    page.wait_for_selector("#preview td")
                    target = IMAGES / "app-start.png"
                    if given.everything:
                        target = given.everything / f"start-{scheme}-{viewport['width']}.png"
                    page.screenshot(path=target)
        desk.close()
        browser.close()


if __name__ == "__main__":
    main()
