"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from helpers.browser import browser
from helpers.chat_server import serve
from helpers.tiny_encoder import make_tiny_encoder

__all__ = ["browser", "serve"]  # One browser for all tests: Playwright cannot be started twice in one process.

os.environ["HF_HUB_OFFLINE"] = "1"
# A shell lets what it runs in the background ignore Ctrl-C. The processes that tests start should not inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
SHARED = Path(__file__).parents[2] / "shared" / "data"  # The benchmark data, if it is beside the checkout.
# The slowest files come first, so that no worker has to wait for them at the end. Those that fork processes
# (helpers/forks.py) are neighbours, so that usually only one worker starts a server of forks.
FIRST = ("test_ray", "test_processes", "test_resume", "test_kill", "test_extremes", "test_process", "test_start_app")
FIRST += ("test_running", "test_main", "test_benchmarks", "test_plugin", "test_text_map", "test_pages", "test_page")
FIRST += ("test_sliders", "test_interrupted", "test_wheel", "test_site", "test_real_data")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than cores, because tests with Ray, a browser or other processes often wait."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by their place in `FIRST`. All other files keep their order."""
    items.sort(key=lambda item: FIRST.index(item.path.stem) if item.path.stem in FIRST else len(FIRST))


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def quick(tiny_encoder: str) -> dict[str, object]:
    """Settings that train the tiny encoder in a second or two."""
    return {"encoder": tiny_encoder, "epochs": 3, "batch_size": 32, "learning_rate": 1e-3, "trained_layers": 2}


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of the authors' files. Tests are skipped if it is missing."""
    if not (SHARED / "hwu64" / "train.tsv").exists():
        pytest.skip(f"the benchmark data is not in {SHARED}")
    return SHARED
