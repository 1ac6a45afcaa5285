"""Measure how soon the report is usable and how smooth its map is, for a run and for 20,000 and 50,000 texts.

    python benchmarks/speed/report_page.py RUN >> research/measurements/report_page.jsonl

RUN is a run folder; the larger reports repeat its texts. In headless Chromium, a report is usable when its categories
are shown and the search responds. Each JSON record has the median of five loads: seconds until the report is usable,
until the map is drawn, and for one zoom step; also the file size, and the seconds for an empty page on this machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from playwright.sync_api import sync_playwright

from subtaxa.data.kept_columns import KeptColumns
from subtaxa.discovery import Discovery
from subtaxa.report.page import ReportData, render_report
from subtaxa.runs import reading
from subtaxa.runs.save import report_data

LOADS, LARGER = 5, (20_000, 50_000)


def enlarged(data: ReportData, number: int) -> ReportData:
    """The same report with its texts repeated up to a number, each at a map position of its own."""
    content, rng = data.content, np.random.default_rng(0)
    some = np.arange(number) % len(content.texts)
    return replace(
        data,
        content=replace(
            content,
            texts=[f"{content.texts[i]} {number}" for number, i in enumerate(some)],
            rows=list(range(number)),
            categories=content.categories[some],
            confidences=content.confidences[some],
            outliers=content.outliers[some],
            positions=content.positions[some] + rng.normal(0, 0.5, (number, 2)).astype(np.float32),
            columns=KeptColumns(tuple(replace(c, values=c.values.take(some)) for c in content.columns)),
        ),
    )


ZOOMING = """async () => {
  const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const start = performance.now();
  for (let i = 0; i < 20; i++) {
    const place = { clientX: box.x + 300, clientY: box.y + 200, deltaY: i < 10 ? -40 : 40, cancelable: true };
    canvas.dispatchEvent(new WheelEvent("wheel", place));
    await frame();
  }
  return (performance.now() - start) / 20 / 1000;
}"""


def load(browser: Any, page_file: Path) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    start = time.perf_counter()
    page.goto(page_file.as_uri())
    page.wait_for_selector("#tree th a")
    page.locator("#search").fill("the")
    page.wait_for_selector("#matches:not(:empty)")
    usable = time.perf_counter() - start
    start = time.perf_counter()
    page.locator("nav").get_by_role("link", name="Map", exact=True).click()
    page.wait_for_selector("#canvas[data-names]")
    drawn = time.perf_counter() - start
    step = page.evaluate(ZOOMING)
    page.close()
    return {"usable": usable, "map": drawn, "zoom step": step}


def measured(browser: Any, data: ReportData, folder: Path) -> dict[str, Any]:
    page_file, empty = folder / "report.html", folder / "empty.html"
    page_file.write_text(render_report(data), encoding="utf-8")
    empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(empty.as_uri())
    empty_seconds = time.perf_counter() - start
    page.close()
    found = [load(browser, page_file) for _ in range(LOADS)]
    middle = {name: round(statistics.median(one[name] for one in found), 3) for name in found[0]}
    size = round(page_file.stat().st_size / 1e6, 2)
    return {
        "texts": len(data.content.texts),
        "megabytes": size,
        "seconds": {**middle, "empty page": round(empty_seconds, 2)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    data = report_data(Discovery.load(given.run).state_, reading.read_run(given.run))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        for shown in (data, *(enlarged(data, number) for number in LARGER)):
            found = measured(browser, shown, Path(folder))
            record = {"command": f"benchmarks/speed/report_page.py {given.run.name}", **found}
            print(json.dumps(record | {"cores": cpu_count()}))
        browser.close()


if __name__ == "__main__":
    main()
