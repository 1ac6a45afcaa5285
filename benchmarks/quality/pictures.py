"""The README's pictures of a report, taken in headless Chromium.

    python benchmarks/pictures.py RUN

RUN is a run folder, as `benchmarks/discover.py ../shared/data clinc --categories auto --out RUN` keeps it. Writes
docs/images/overview.png, map.png (the pointer on the first dot under the middle) and category.png (the largest one).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from subtaxa import Discovery

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TIP = "!document.getElementById('tip').hidden"


def main() -> None:
    run = Path(sys.argv[1]).resolve()
    largest = max(Discovery.load(run).taxonomy_, key=lambda category: category.size)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto((run / "report.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        page.screenshot(path=IMAGES / "overview.png")
        page.locator("nav").get_by_role("link", name="Map").click()
        box = page.locator("#canvas").bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
        across, down = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6
        for step in range(40):
            page.mouse.move(across + 4 * step, down)
            if page.evaluate(TIP):
                break
        page.screenshot(path=IMAGES / "map.png")
        page.evaluate(f"location.hash = 'category-{largest.id}'")
        page.wait_for_selector("#view-category h2")
        page.screenshot(path=IMAGES / "category.png")
        browser.close()


if __name__ == "__main__":
    main()
