"""Measure how soon `subtaxa open` is usable, and how soon an edit and a search are seen, at 20,000 texts or more.

    python benchmarks/speed/app_page.py RUN [--texts 20000] >> research/measurements/app_page.jsonl

RUN is a run folder; it is copied, with its texts and features repeated (and slightly changed) up to the number. The
command itself is started, and headless Chromium uses it. The record has the seconds from the command to its link, the
median seconds until the page is usable (the categories are shown and a search for a word responds), until a rename, a
merge, a move of one text, a preview and an undo are seen, and until a search by meaning shows its result. The encoder
is loaded before the searches are measured. `server` has the seconds of CPU that the app itself needs for a page, an
edit with its answer, and a search; unlike the others, they do not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from playwright.sync_api import Page, sync_playwright

from subtaxa.app.finding import find_sentence, warm_up
from subtaxa.app.workbench import Workbench
from subtaxa.data.texts import CoarseTexts
from subtaxa.runs.load import load_run
from subtaxa.runs.save import save_run
from subtaxa.taxonomy.fitted_state import FittedState

TIMES = 5
SENTENCES = ("wake me up early", "what is the weather", "play some music", "send a mail", "turn off the light")


def enlarged(state: FittedState, number: int) -> FittedState:
    """The same run with its texts repeated up to a number. Every text and its features are a little different."""
    some, rng = np.arange(number) % len(state.data), np.random.default_rng(0)  # (N,)
    features = state.features[some] + rng.normal(0, 0.002, (number, state.features.shape[1])).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    data = CoarseTexts(
        tuple(f"{state.data.texts[i]} {n}" for n, i in enumerate(some.tolist())),
        tuple(state.data.labels[i] for i in some.tolist()),
        tuple(range(1, number + 1)),
        (),
        source=state.data.source,
    )
    trained = replace(state.trained, labels=state.trained.labels[some], confidences=state.trained.confidences[some])
    described = state.tree
    if described is not None:
        described = replace(described, tree=replace(described.tree, parts=described.tree.parts[some]))
    places = state.map[some] + rng.normal(0, 0.5, (number, 2)).astype(np.float32)
    changed = {"data": data, "features": features, "map": places, "tree": described}
    return replace(state, **changed, trained=trained, current=trained, edits=[])


def spent(page: Page, work: Callable[[], None], seen: str) -> float:
    """Seconds until a selector matches after some work."""
    start = time.perf_counter()
    work()
    page.wait_for_selector(seen)
    return time.perf_counter() - start


def usable(context: Any, link: str) -> float:
    """Seconds until a new page shows the categories and its search responds."""
    page = context.new_page()
    start = time.perf_counter()
    page.goto(link)
    page.wait_for_selector("#tree th a")
    page.locator("#search").fill("the")
    page.wait_for_selector("#matches:not(:empty)")
    found = time.perf_counter() - start
    page.close()
    return found


def edits(page: Page) -> dict[str, list[float]]:
    """Seconds of each kind of edit."""
    found: dict[str, list[float]] = {name: [] for name in ("rename", "merge", "move", "undo", "split preview")}
    page.locator("#tree th a").first.click()
    for number in range(TIMES):
        name = f"renamed {number}"
        page.locator("#new-name").fill(name)
        done = spent(page, page.get_by_role("button", name="Rename").click, f"h2:has-text('{name}')")
        found["rename"].append(done)
        before = page.locator("#other option").count()
        gone = page.locator("#other").input_value()
        merge = page.get_by_role("button", name="Merge")
        found["merge"].append(spent(page, merge.click, f"#go:not(:has(option[value='{gone}']))"))
        page.wait_for_selector("#pending:has-text('merge')")
        undo = page.locator("#pending").get_by_role("button", name="Undo")
        found["undo"].append(spent(page, undo.click, f"#go:has(option[value='{gone}'])"))
        size = page.locator("#texts h3").inner_text()
        page.locator("#texts li input").first.check()
        found["move"].append(spent(page, page.locator("#mark").click, f"#texts h3:not(:text-is('{size}'))"))
        if before and number == 0:
            preview = page.get_by_role("button", name="Preview")
            found["split preview"].append(spent(page, preview.click, "#parts h4"))
    return found


def searches(page: Page) -> list[float]:
    """Seconds of searches by meaning, after a first one that may wait for the encoder."""
    page.locator("nav").get_by_role("link", name="Find").click()
    found = []
    for sentence in ("the first one loads the encoder", *SENTENCES):
        page.locator("#sentence").fill(sentence)
        seen = f"#similar-found q:has-text('{sentence}')"
        found.append(spent(page, page.get_by_role("button", name="Find").click, seen))
    return found[1:]


def measured(run: Path, chromium: str) -> dict[str, Any]:
    """All measurements of a run."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "subtaxa", "open", str(run), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, sync_playwright() as playwright:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        found: dict[str, list[float]] = {"link": [time.perf_counter() - start]}
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        context.set_default_timeout(600_000)
        found["first page"] = [usable(context, link)]
        page = context.new_page()
        page.goto(link)
        found["search"] = searches(page)
        found["page"] = [usable(context, link) for _ in range(TIMES)]
        page.locator("nav").get_by_role("link", name="Overview").click()
        found |= edits(page)
        browser.close()
        process.send_signal(signal.SIGINT)
        process.wait()
    return {name: round(statistics.median(values), 3) for name, values in found.items()}


def server(run: Path) -> dict[str, float]:
    """Seconds of CPU of the app, without browser and network."""
    bench = Workbench(run)
    warm_up(bench)
    category, known = bench.current().taxonomy[0].id, len(bench.session.log)

    def edit() -> None:
        nonlocal known
        bench.correct(known, {"do": "rename", "category": category, "name": f"name {known}"})
        json.dumps(bench.view())
        known += 1

    works = {"page": bench.page, "edit": edit, "search": lambda: find_sentence(bench, SENTENCES[0])}
    found: dict[str, list[float]] = {name: [] for name in works}
    for name, work in works.items():
        for _ in range(TIMES):
            start = time.process_time()
            work()
            found[name].append(time.process_time() - start)
    return {name: round(statistics.median(values), 3) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--server-only", action="store_true", help="measure only the CPU time of the app")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = enlarged(load_run(given.run), given.texts)
        run = save_run(state, Path(folder) / "run", overwrite=False)
        found = (
            {"server": server(run)} if given.server_only else measured(run, given.chromium) | {"server": server(run)}
        )
    command = f"benchmarks/speed/app_page.py {given.run.name} --texts {given.texts}"
    print(
        json.dumps(
            {
                "command": command,
                "texts": given.texts,
                "seconds": found,
                "cores": cpu_count(),
                "load": os.getloadavg()[1],
            }
        )
    )


if __name__ == "__main__":
    main()
