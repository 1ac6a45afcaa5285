"""A small run and the app of that run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers import forks
from helpers.corpus import planted_corpus
from playwright.sync_api import expect
from starlette.testclient import TestClient

from subtaxa.app import jobs
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.run_app import run_app
from subtaxa.app.workbench import Workbench
from subtaxa.discovery import Discovery

TEXTS, LABELS, _ = planted_corpus(per_topic=25)
PORT = 4567
expect.set_options(timeout=60_000)  # The machine may be busy with other tests.


@pytest.fixture(scope="session")
def saved(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app") / "run"
    model = Discovery(9, preset="quick", encoder=tiny_encoder)  # More than are planted, so that there are questions.
    columns = {"channel": [("web", "phone")[i % 2] for i in range(len(TEXTS))]}
    return model.fit(TEXTS, LABELS, columns=columns).save(folder)


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


@pytest.fixture
def bench(run: Path) -> Workbench:
    return Workbench(run)


@pytest.fixture
def jobs_in_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the jobs of the app as forks, which saves the time of the imports. The server of forks is ready before."""
    assert forks.run("--version").returncode == 0
    monkeypatch.setattr(jobs.subprocess, "Popen", forks.Job)


@pytest.fixture
def keys() -> Keys:
    return Keys(PORT)


@pytest.fixture
def stranger(bench: Workbench, keys: Keys) -> TestClient:
    """A client that knows the address, but not the link."""
    return TestClient(Guard(run_app(bench), keys), base_url=keys.origin)


@pytest.fixture
def client(stranger: TestClient, keys: Keys) -> TestClient:
    """The user's browser, which has opened the link."""
    assert stranger.get(f"/?token={keys.token}").status_code == 200
    stranger.headers["origin"] = keys.origin
    return stranger
