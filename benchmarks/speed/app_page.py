"""Measure how soon `subtaxa open` is usable, and how soon an edit and a search are seen, at 20,000 texts or more.

    python benchmarks/speed/app_page.py RUN [--texts 20000] >> research/measurements/app_page.jsonl

RUN is a run folder; it is copied, with its texts and features repeated (and slightly changed) up to the number. The
command itself is started, and headless Chromium uses it. The record has the seconds from the command to its link, the
median seconds until the page is usable (the categories are shown and a search for a word responds), until a rename, a
merge, a move of one text, a preview and an undo are seen, and until a search by meaning shows its result. The encoder
is loaded before the searches are measured. `cpu` has the seconds of processor time that the app and the browser need
together for the same, and `server` those of the app alone, without network. Unlike the waiting times, they hardly
depend on how busy the machine is.
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
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from joblib import cpu_count
from playwright.sync_api import BrowserContext, Locator, Page, sync_playwright

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


class Watch:
    """Collects the seconds and the processor time of the app and the browser for each kind of work."""

    def __init__(self, app: int) -> None:
        self.app, self.waited, self.cpu = app, defaultdict(list), defaultdict(list)

    @contextmanager
    def processor(self, name: str) -> Iterator[None]:
        """Add the processor time of a block."""
        before = self._used()
        yield
        self.cpu[name].append(self._used() - before)

    def spent(self, name: str, page: Page, button: Locator, seen: str) -> None:
        """Press a button and add the time from the click until a condition in JavaScript holds and is painted."""
        page.evaluate(
            f"""() => {{ window.seen = new Promise((done) => {{
              let begun;
              addEventListener("click", () => (begun = performance.now()), {{ capture: true, once: true }});
              const holds = () => begun !== undefined && ({seen});
              const look = () => holds() ? setTimeout(finish) : requestAnimationFrame(look);
              const finish = () => done(performance.now() - begun);
              requestAnimationFrame(look);
            }}) }}"""
        )
        with self.processor(name):
            button.click()
            self.waited[name].append(page.evaluate("window.seen") / 1000)

    def usable(self, name: str, context: BrowserContext, link: str) -> None:
        """Add the time until a new page shows the categories and its search responds."""
        page = context.new_page()
        with self.processor(name):
            start = time.perf_counter()
            page.goto(link)
            page.wait_for_selector("#tree th a")
            page.locator("#search").fill("the")
            page.wait_for_selector("#matches:not(:empty)")
            self.waited[name].append(time.perf_counter() - start)
        page.close()

    def _used(self) -> float:
        """Seconds of processor time of the app and the browser so far."""
        used = 0.0
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.pid == self.app or "chrom" in process.name():
                    used += sum(process.cpu_times()[:2])
        return used


def edits(page: Page, watch: Watch) -> None:
    """Each kind of edit, several times."""
    page.locator("#tree th a").first.click()
    for number in range(TIMES):
        name = f"renamed {number}"
        page.locator("#new-name").fill(name)
        shown = "document.querySelector('#view-category h2').textContent.includes"
        watch.spent("rename", page, page.get_by_role("button", name="Rename"), f"{shown}('{name}')")
        gone = f"document.querySelector(`#go option[value='{page.locator('#other').input_value()}']`)"
        watch.spent("merge", page, page.get_by_role("button", name="Merge"), f"!{gone}")
        page.wait_for_selector("#pending:has-text('merge')")
        undo = page.locator("#pending").get_by_role("button", name="Undo")
        watch.spent("undo", page, undo, gone)
        size = page.locator("#texts h3").inner_text()
        page.locator("#texts li input").first.check()
        moved = f"document.querySelector('#texts h3').innerText !== {json.dumps(size)}"
        watch.spent("move", page, page.locator("#mark"), moved)
        preview = page.get_by_role("button", name="Preview")
        watch.spent("split preview", page, preview, "document.querySelector('#parts h4')")


def searches(page: Page, watch: Watch) -> None:
    """Searches by meaning, after a first one that may wait for the encoder."""
    page.locator("nav").get_by_role("link", name="Find").click()
    find = page.get_by_role("button", name="Find")
    page.locator("#sentence").fill("the first one loads the encoder")
    find.click()
    page.wait_for_selector("#similar-found q")
    for sentence in SENTENCES:
        page.locator("#sentence").fill(sentence)
        seen = f"document.querySelector('#similar-found q')?.textContent.includes('{sentence}')"
        watch.spent("search", page, find, seen)


def measured(run: Path, chromium: str) -> dict[str, Any]:
    """All measurements of a run."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "subtaxa", "open", str(run), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, sync_playwright() as playwright:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        watch = Watch(process.pid)
        watch.waited["link"].append(time.perf_counter() - start)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        context.set_default_timeout(600_000)
        watch.usable("first page", context, link)
        page = context.new_page()
        page.goto(link)
        searches(page, watch)
        for _ in range(TIMES):
            watch.usable("page", context, link)
        page.locator("nav").get_by_role("link", name="Overview").click()
        edits(page, watch)
        browser.close()
        process.send_signal(signal.SIGINT)
        process.wait()
    return medians(watch.waited) | {"cpu": medians(watch.cpu)}


def medians(found: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The median of each kind."""
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
    return medians(found)


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
