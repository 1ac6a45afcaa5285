"""Take the documentation's screenshots of filters, colours and counts, in headless Chromium.

    python benchmarks/quality/column_pictures.py FOLDER

The program finds the categories of the built-in example, with made-up columns that follow its intended categories, and
saves the run in FOLDER. If there is already a run in it, it only takes the pictures: docs/images/filters.png,
map-column.png, treemap.png and over-time.png.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from subtaxa import Discovery
from subtaxa.data.example import FOLDER, example_texts

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
START, DAYS = datetime(2025, 12, 23, 9), 329
TRENDS = (0, 0, 0, 0, 2.5, -2.5, 9)  # no trend, growing, shrinking, and only in the last month (9)
PICTURES = {
    "filters": "#overview?is.channel=phone&is.date=2026-05-01..",
    "map-column": "#map?column=channel",
    "treemap": "#treemap",
    "over-time": "#columns?column=date",
}


def made_up_columns() -> dict[str, list[Any]]:
    """A date, a channel, an amount, a version and a note for each text of the example."""
    with (FOLDER / "support_fine.csv").open(encoding="utf-8") as file:
        fine = [row["fine"] for row in csv.DictReader(file)]
    rng = random.Random(7)  # noqa: S311 - made-up data
    trend = {kind: rng.choice(TRENDS) for kind in sorted(set(fine))}
    web = {kind: rng.choice((0.1, 0.4, 0.5, 0.8)) for kind in sorted(set(fine))}
    columns: dict[str, list[Any]] = {name: [] for name in ("date", "channel", "amount", "version", "note")}
    for i, kind in enumerate(fine):
        at, strength = rng.random(), abs(trend[kind])
        share = at ** (1 / (1 + strength)) if trend[kind] >= 0 else 1 - at ** (1 / (1 + strength))
        day = 300 + 29 * at if strength == 9 else DAYS * share
        columns["date"].append(None if i % 50 == 7 else (START + timedelta(days=day)).isoformat(timespec="minutes"))
        columns["channel"].append("web form" if rng.random() < web[kind] else rng.choice(("phone", "e-mail", "chat")))
        columns["amount"].append(None if i % 3 == 1 else round(rng.lognormvariate(3, 1), 2))
        columns["version"].append(rng.choice(("3.1", "3.2", "4.0")))
        columns["note"].append(f"seen by agent {i}")
    return columns


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    run = parser.parse_args().folder.resolve()
    if not (run / "report.html").exists():
        Discovery(preset="quick").fit(example_texts(), columns=made_up_columns()).save(run)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, selection in PICTURES.items():
            page = browser.new_page(viewport={"width": 1200, "height": 860})
            page.goto((run / "report.html").as_uri() + selection)
            page.wait_for_selector("body[data-ready]")
            if name == "filters":
                page.locator("#filter").click()
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
