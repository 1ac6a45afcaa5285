"""The site: generated pages, the notebook and the navigation."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from subtaxa.app.desk import Desk
from subtaxa.app.run_app import run_endpoints
from subtaxa.app.start_app import start_app
from subtaxa.cli.main import parser
from subtaxa.methods import variants
from subtaxa.settings import NAMES, PRESETS, Settings

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return the module that writes pages when the site is built."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_settings_page_has_every_setting_and_preset(generate: ModuleType) -> None:
    page = generate.settings_page()
    (head,) = [line for line in page.splitlines() if line.startswith("| Setting |")]
    columns = [cell.strip().strip("`") for cell in head.split("|")[1:-1]]
    assert set(columns[3:]) == set(PRESETS)
    for name in NAMES:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == len(columns)
        assert cells[1]
        assert cells[2]
        for preset, shown in zip(columns[3:], cells[3:], strict=True):
            assert shown == f"`{getattr(Settings.from_preset(preset), name)}`"


def test_the_commands_page_has_every_command(generate: ModuleType) -> None:
    page = generate.commands_page()
    names = [name for name, _ in generate.subcommands(parser())]
    assert {"discover", "assign", "bench"} <= set(names)
    for name in names:
        assert f"\n## subtaxa {name}\n" in page
    assert "\n### subtaxa bench run\n" in page
    assert "--max-grad-norm" in page


def test_the_methods_page_has_every_method(generate: ModuleType) -> None:
    page = generate.methods_page()
    for name in variants():
        assert re.search(rf"^\| `{re.escape(name)}` \| \S.+ \|$", page, re.M)


def test_the_page_of_the_interface_has_every_address_of_both_apps(generate: ModuleType) -> None:
    page = generate.app_api_page()
    routes = [*start_app(Desk(Path())).routes, *(endpoint.route() for endpoint in run_endpoints(None, None, None))]
    addresses = {route.path for route in routes if route.path.startswith("/api/")}
    assert addresses == set(re.findall(r"^\| `(?:GET|POST) (/api/[\w-]+)` \| \S", page, re.M))


def test_the_notebooks_page_shows_code_and_output(generate: ModuleType) -> None:
    page = generate.notebook_page(json.loads(NOTEBOOK.read_text("utf-8")))
    assert page.startswith("# The same in a notebook")
    assert "Discovery(" in page
    assert re.search(r"login +\(\d+ texts, \d+ categories\)", page)
    assert "![Figure](data:image/png;base64," in page


def test_every_page_is_in_the_navigation(generate: ModuleType) -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M))
    written = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    generated = set(re.findall(r'^        "([\w/-]+\.md)":', Path(generate.__file__ or "").read_text("utf-8"), re.M))
    assert len(generated) == 5
    assert listed == written | generated


def printed(notebook: Any) -> list[str]:
    """Return what each code cell of a notebook printed or returned, as text."""
    return [
        "".join(
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in cell.outputs
            if output.get("name") != "stderr"
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """Sizes and names of categories may differ on another processor, so digits and names are not compared."""
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(run, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown, now = printed(stored), printed(run)
    assert len(shown) == len(now) > 8
    for before, after in zip(shown, now, strict=True):
        assert bool(before) == bool(after)
    assert now[0] == shown[0]
    assert now[-1] == shown[-1] == "True"
    assert any("My new name" in text for text in now)
