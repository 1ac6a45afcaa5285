"""A real browser for the tests of the report: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium that writes nothing to the home folder. Tests are skipped if it is missing, except in CI."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = "Chromium is missing: install it (Debian: apt-get install chromium) to test the report"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        folders = {
            "HOME": str(tmp_path_factory.mktemp("home")),
            "XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("config")),
        }
        opened = playwright.chromium.launch(
            executable_path=found,
            args=["--no-sandbox"],  # Chromium refuses to run as root with its sandbox.
            env={**os.environ, **folders},
        )
        yield opened
        opened.close()


def serious_problems(page: Any) -> list[tuple[str, list[str]]]:
    """What axe finds serious in light and in dark colours, as rules and elements. Colours change contrasts only."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="dark")
    of_colours = {
        "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
        "resultTypes": ["violations"],
    }
    found += Axe().run(page, options=of_colours).response["violations"]
    page.emulate_media(color_scheme="light")
    return [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")]


class Reader:
    """A reader of a report. The page must neither report an error nor request anything from the network.

    `link` is used in place of a file to open a page of the app, which may talk to the app only.
    """

    def __init__(self, browser: Any, report: Path | None, link: str = "", **options: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 850}, "accept_downloads": True, **options}
        )
        self.context.set_default_timeout(120_000)  # The machine may be busy with other tests.
        self.page, self.errors, self.requested = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.accept()))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.allowed = ("file:", "data:", "blob:") if report else ("data:", "blob:", link.partition("?")[0])
        self.page.goto(report.as_uri() if report else link)
        self.page.wait_for_selector("body[data-ready]")

    def close(self) -> None:
        self.context.close()
        assert self.errors == []
        assert [url for url in self.requested if not url.startswith(self.allowed)] == []

    def go(self, part: str) -> None:
        """Follow a link of the navigation and wait for its view, because the address changes before the page does."""
        link = self.page.locator("nav").get_by_role("link", name=re.compile(f"^{part}"))
        link.click()
        self.page.wait_for_selector(f"body[data-view='{link.get_attribute('href').removeprefix('#')}']")

    def open(self, name: str) -> None:
        """Open a category."""
        self.go("Overview")
        self.page.locator("#tree").get_by_role("link", name=name, exact=True).click()

    def names(self) -> list[str]:
        """The names of the categories in the order of the tree."""
        return self.page.locator("#tree th a").all_text_contents()

    def downloaded(self, button: Any) -> Path:
        with self.page.expect_download() as started:
            button.click()
        return Path(started.value.path())

    def refuses(self, file: Path, why: str) -> None:
        """Load a file of corrections that the page must refuse for this reason."""
        from playwright.sync_api import expect

        self.go("Corrections")
        self.page.evaluate("document.getElementById('load-problem').textContent = ''")
        self.page.locator("#load").set_input_files(file)
        expect(self.page.locator("#load-problem")).to_contain_text(why)
        self.go("Overview")
        self.page.locator("#tree").wait_for()

    def position(self, i: int) -> tuple[float, float]:
        """The position of a text on the screen while the whole map is visible."""
        x, y = self.page.evaluate(
            """i => {
              const data = JSON.parse(document.getElementById("data").textContent);
              const box = document.getElementById("canvas").getBoundingClientRect();
              const scale = 0.92 * Math.min(box.width, box.height) / 10000;
              return [box.x + box.width / 2 + (data.x[i] - 5000) * scale,
                      box.y + box.height / 2 + (data.y[i] - 5000) * scale];
            }""",
            i,
        )
        return x, y
