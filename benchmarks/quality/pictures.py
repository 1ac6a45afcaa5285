"""Take the README's screenshots of a report, in headless Chromium.

    python benchmarks/quality/pictures.py demo

The argument is a run folder, here that of `make demo`. The program writes docs/images/overview.png, map.png (with the
pointer on a dot near the middle) and category.png (the largest category).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from subtaxa import Discovery

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
TOOLTIP_IS_SHOWN = "!document.getElementById('tip').hidden"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run.resolve()
    largest = max(Discovery.load(run).taxonomy_, key=lambda category: category.size)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto((run / "report.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        page.screenshot(path=IMAGES / "overview.png")
        page.locator("nav").get_by_role("link", name="Map", exact=True).click()
        box = page.locator("#canvas").bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
        x, y = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6
        for step in range(40):
            page.mouse.move(x + 4 * step, y)
            if page.evaluate(TOOLTIP_IS_SHOWN):
                break
        page.screenshot(path=IMAGES / "map.png")
        page.evaluate(f"location.hash = 'category-{largest.id}'")
        page.wait_for_selector("#view-category h2")
        page.screenshot(path=IMAGES / "category.png")
        browser.close()


if __name__ == "__main__":
    main()
