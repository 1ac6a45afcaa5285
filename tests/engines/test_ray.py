"""Ray on this machine: training survives the death of a worker, and files are assigned in partitions."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import psutil
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery, engines
from subtaxa.bench.scoring import score
from subtaxa.cli.main import main
from subtaxa.training.checkpoint import load_state

if TYPE_CHECKING:
    from subtaxa.engines.ray_assign import Partition, RayAssign

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'subtaxa[cluster]'")
EPOCHS = 6


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """Start Ray once for all tests, because it takes seconds. The workers can import the tests' helpers."""
    from subtaxa.engines.ray_start import connected

    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        changed.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")  # Ray Train looks for dead workers this often.
        with connected(None, 2):
            yield


class Killer(threading.Thread):
    """Kills a training worker after the first epochs, and keeps the checkpoint of that moment."""

    def __init__(self, state: Path) -> None:
        super().__init__(daemon=True)
        self.state, self.seen, self.saved = state, set[int](), {}

    def run(self) -> None:
        while not self.state.exists() or load_state(self.state)[1]["epoch"] < 2:
            time.sleep(0.05)
        self.seen, self.saved = workers(), load_state(self.state)[1]
        os.kill(max(self.seen), signal.SIGKILL)


def workers() -> set[int]:
    """The process ids of the workers."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            if "RayTrainWorker" in " ".join(process.cmdline()):
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="module")
def run(ray_here: None, tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Killer]:
    """A finished run in which a worker was killed."""
    folder = tmp_path_factory.mktemp("ray")
    texts, labels, fine = planted_corpus(40)
    source, out = folder / "planted.csv", folder / "run"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label", "fine"), *zip(texts, labels, fine, strict=True)])
    killer = Killer(out / "checkpoint" / "training.safetensors")
    killer.start()
    given = f"--categories 6 --epochs {EPOCHS} --batch-size 16 --learning-rate 1e-3 --neighbours 20 --quiet"
    columns = ("--text", "text", "--label", "label", "--encoder", tiny_encoder)
    command = [
        "discover",
        str(source),
        "--out",
        str(out),
        *columns,
        *given.split(),
        "--engine",
        "ray",
        "--workers",
        "2",
    ]
    assert main(command) == 0
    return out, killer


@needs_ray
def test_training_continues_from_the_last_checkpoint_when_a_worker_dies(run: tuple[Path, Killer]) -> None:
    out, killer = run
    assert len(killer.seen) == 2  # One worker was killed during the training.
    history = json.loads((out / "run.json").read_text())["history"]
    assert [row["epoch"] for row in history] == list(range(1, EPOCHS + 1))
    assert history[: killer.saved["epoch"]] == killer.saved["history"]
    assert not (out / "checkpoint").exists()
    with (out / "assignments.csv").open(newline="") as file:
        found = [row["category_id"] for row in csv.DictReader(file)]
    fine = pd.read_csv(out.parent / "planted.csv")["fine"].tolist()
    assert score(fine, found).acc > 95


@needs_ray
def test_the_workers_return_the_trained_weights(run: tuple[Path, Killer]) -> None:
    model = Discovery.load(run[0])
    texts = pd.read_csv(run[0].parent / "planted.csv")["text"].tolist()
    again = model.transform(texts)
    assert abs((again * model.features_).sum(1) - 1).max() < 1e-4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files, one with several row groups, and a folder with a third file."""
    folder = tmp_path_factory.mktemp("corpus")
    texts, labels, _ = planted_corpus(40, seed=5)
    rows = pd.DataFrame({"number": range(len(texts)), "text": texts, "label": labels})
    (folder / "more").mkdir()
    rows[:100].to_parquet(folder / "a.parquet", row_group_size=30)
    rows[100:150].to_parquet(folder / "b.parquet")
    rows[150:].to_parquet(folder / "more" / "a.parquet")
    return folder


def assigned_here(
    engine: RayAssign, left: list[Partition], run: Path, text: str | None, label: str | None
) -> Iterator[dict[str, Any]]:
    """What a worker does, done in this process."""
    from subtaxa.engines.ray_assign import _AssignPartition

    yield from map(_AssignPartition(str(run), text, label), map(asdict, left))


@needs_ray
def test_files_are_assigned_by_partition_and_finished_partitions_are_kept(
    run: tuple[Path, Killer],
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from subtaxa.engines import ray_assign

    monkeypatch.setattr(ray_assign, "PARTITION_ROWS", 60)
    out = tmp_path / "assigned"
    command = ["assign", str(run[0]), f"{corpus}/**/*.parquet", "--text", "text", "--out", str(out), "--quiet"]
    command += ["--engine", "ray", "--workers", "2"]
    assert main(command) == 0
    assert "240 texts assigned" in capsys.readouterr().out
    names = ["a-00000", "a-00002", "b-00000", "more/a-00000"]
    files = [out / f"{name}.parquet" for name in names]
    assert sorted(out.rglob("*.parquet")) == sorted(files)
    found = pd.concat(map(pd.read_parquet, files), ignore_index=True)
    assert found["number"].tolist() == list(range(240))
    here = tmp_path / "here.parquet"
    assert main(["assign", str(run[0]), str(corpus / "more/a.parquet"), "--text", "text", "--out", str(here)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(files[3]), pd.read_parquet(here), atol=1e-3)

    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()
    capsys.readouterr()
    monkeypatch.setattr(ray_assign.RayAssign, "_results", assigned_here)  # No worker has to start for one partition.
    assert main(command) == 0
    assert "40 texts assigned" in (said := capsys.readouterr().out)
    assert "(partitions that an earlier run had finished: 3)" in said
    assert [file.stat().st_mtime_ns == time for file, time in zip(files, times, strict=True)] == [
        True,
        False,
        True,
        True,
    ]
    assert "another run or other columns" in refused(capsys, [*command, "--label", "label"])


@needs_ray
def test_assign_dataset_adds_the_same_columns(run: tuple[Path, Killer], corpus: Path) -> None:
    import ray

    from subtaxa.engines.ray_assign import assign_dataset

    rows = pd.read_parquet(corpus / "b.parquet")
    assigned = assign_dataset(ray.data.from_pandas(rows), run[0], label="label", workers=1).to_pandas()
    model = Discovery.load(run[0])
    assert assigned["category_id"].tolist() == model.predict(rows["text"].tolist(), rows["label"].tolist()).tolist()
    assert assigned["category_label"].tolist() == rows["label"].tolist()


def test_without_ray_the_error_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for command in (["discover", "x.csv", "--out", "y"], ["assign", "run", "x.parquet", "--out", "y"]):
        assert "pip install 'subtaxa[cluster]'" in refused(capsys, [*command, "--engine", "ray"])


def test_the_usage_statistics_of_ray_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    engines.check_ray()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
