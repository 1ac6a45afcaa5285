"""A run with columns, and its model, for the tests of the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.columned_run import columned_model, made_up_columns, with_columns
from playwright.sync_api import expect

from subtaxa.discovery import Discovery

expect.set_options(timeout=60_000)  # The machine may be busy with other tests.


@pytest.fixture(scope="session")
def example_model(tiny_encoder: str) -> Discovery:
    return columned_model(tiny_encoder)


@pytest.fixture(scope="session")
def columned(example_model: Discovery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in example with made-up columns."""
    columns = made_up_columns(example_model)
    return with_columns(example_model, columns, tmp_path_factory.mktemp("columned") / "run")
