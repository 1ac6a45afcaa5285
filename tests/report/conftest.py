"""One browser for all tests of the report: Playwright cannot be started twice in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.browser import browser
from helpers.columned_run import columned_model, made_up_columns, with_columns
from playwright.sync_api import expect

from subtaxa.discovery import Discovery

__all__ = ["browser"]
expect.set_options(timeout=60_000)  # The machine may be busy with other tests.


@pytest.fixture(scope="session")
def example_model(tiny_encoder: str) -> Discovery:
    return columned_model(tiny_encoder)


@pytest.fixture(scope="session")
def columned(example_model: Discovery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in example with made-up columns."""
    columns = made_up_columns(example_model)
    return with_columns(example_model, columns, tmp_path_factory.mktemp("columned") / "run")
