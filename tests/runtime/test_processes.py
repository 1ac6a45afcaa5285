"""Training in two real processes, started by torchrun and connected by gloo, compared with training in one."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers import forks
from helpers.commands import refused
from helpers.corpus import planted_corpus
from helpers.two_processes import METHODS, save_trained, trained
from safetensors.torch import load_file

from subtaxa.bench.scoring import score
from subtaxa.runtime import processes
from subtaxa.training.checkpoint import load_state

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
EPOCHS = 6


def run_pair(work: Callable[..., object], *arguments: str) -> list[tuple[int | None, str, str]]:
    """Run the same work in two processes with the variables that torchrun sets.

    Returns the exit code, standard output and standard error of each.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    shared |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    ranks = [{"RANK": rank, "LOCAL_RANK": rank} for rank in ("0", "1")]
    both = [forks.Fork(work, *arguments, env={**os.environ, **shared, **rank}) for rank in ranks]
    streams = [fork.communicate() for fork in both]
    return [(fork.returncode, *written) for fork, written in zip(both, streams, strict=True)]


@pytest.fixture(scope="module")
def pair(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, torch.Tensor]]:
    """The tensors of each of two processes that trained together."""
    folder = tmp_path_factory.mktemp("pair")
    for code, _, error in run_pair(save_trained, tiny_encoder, str(folder)):
        assert code == 0, error
    return [load_file(folder / f"{rank}.safetensors") for rank in (0, 1)]


@pytest.fixture(scope="module")
def alone(tiny_encoder: str) -> dict[str, torch.Tensor]:
    """The tensors of the default method, trained in this process alone."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = trained(tiny_encoder, "soft-dna")
    torch.set_num_threads(threads)
    return found


@pytest.mark.parametrize("name", METHODS)
def test_weights_and_queue_stay_the_same_in_both_processes(pair: list[dict[str, torch.Tensor]], name: str) -> None:
    first, second = ({key: value for key, value in found.items() if key.startswith(f"{name}/")} for found in pair)
    assert len(first) > 10
    for key, value in first.items():
        torch.testing.assert_close(second[key], value, rtol=0, atol=0, equal_nan=True, msg=key)


def test_the_first_neighbours_are_exactly_those_of_one_process(
    pair: list[dict[str, torch.Tensor]], alone: dict[str, torch.Tensor]
) -> None:
    ours = {key: value for key, value in alone.items() if "/first/" in key}
    assert {key.rpartition("/")[2] for key in ours} == {"indices", "label", "reciprocal"}
    for key, value in ours.items():
        assert torch.equal(pair[0][key], value), key
    lost = (~ours["soft-dna/first/reciprocal"]).float().mean()
    assert 0 < lost < 0.9  # The filter removed some neighbours.


def test_two_processes_learn_what_one_does(pair: list[dict[str, torch.Tensor]], alone: dict[str, torch.Tensor]) -> None:
    """Their augmentations differ, so the results differ as between two seeds."""
    torch.testing.assert_close(pair[0]["soft-dna/loss"], alone["soft-dna/loss"], rtol=0, atol=0.3)
    assert pair[0]["soft-dna/loss"][1] < pair[0]["soft-dna/loss"][0]
    assert not torch.equal(pair[0]["soft-dna/queue"], alone["soft-dna/queue"])


def test_in_one_process_there_is_nothing_to_share() -> None:
    rows = torch.arange(6).view(3, 2)
    with processes.group():
        assert (processes.world_size(), processes.rank()) == (1, 0)
        assert processes.shard([1, 2, 3]) == [1, 2, 3]
        assert processes.all_gather_rows(rows, [torch.arange(3)]) is rows
        assert processes.broadcast(lambda: 7) == 7
        assert processes.any_process(True)
        assert not processes.any_process(False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    texts, labels, fine = planted_corpus(40)
    path = tmp_path / "planted.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label", "fine"), *zip(texts, labels, fine, strict=True)])
    return path


def command(source: Path, out: Path, encoder: str, epochs: int = EPOCHS) -> list[str]:
    given = f"--categories 6 --epochs {epochs} --batch-size 16 --learning-rate 1e-3 --neighbours 20".split()
    columns = ("--text", "text", "--label", "label")
    return ["discover", str(source), "--out", str(out), "--encoder", encoder, *columns, *given]


def test_stopped_processes_save_once_and_resume_together(source: Path, tiny_encoder: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = command(source, out, tiny_encoder)
    started = [*TORCHRUN, "-m", "subtaxa", *arguments]
    process = subprocess.Popen(started, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    state = out / "checkpoint" / "training.safetensors"
    while not state.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert error.count("subtaxa: stopped (add --resume") == 1, error
    assert "load_state" not in error
    begun = load_state(state)[1]
    assert 0 < begun["epoch"] < EPOCHS
    done = run_pair(forks.command, *arguments, "--resume")
    assert [code for code, _, _ in done] == [0, 0], done
    assert "".join(printed for _, printed, _ in done).count("6 categories in 3 labels") == 1
    facts = json.loads((out / "run.json").read_text())
    assert [row["epoch"] for row in facts["history"]] == list(range(1, EPOCHS + 1))
    assert [row["alignment"] for row in facts["history"][: begun["epoch"]]] == [
        row["alignment"] for row in begun["history"]
    ]
    with (out / "assignments.csv").open(newline="") as file:
        found = [row["category_id"] for row in csv.DictReader(file)]
    with source.open(newline="") as file:
        fine = [row["fine"] for row in csv.DictReader(file)]
    assert score(fine, found).acc > 95


def test_only_one_process_reports_a_user_error(tmp_path: Path) -> None:
    done = run_pair(forks.command, "discover", str(tmp_path / "none.csv"), "--out", str(tmp_path / "run"))
    assert [code for code, _, _ in done] == [2, 0]  # torchrun stops all processes when the first one fails.
    assert "".join(error for _, _, error in done).count("subtaxa: ") == 1


def test_only_discover_runs_in_several_processes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert "without" in refused(capsys, ["info", "run"])
    assert "leave out torchrun" in refused(capsys, ["discover", "x.csv", "--out", "y", "--engine", "ray"])


def test_cluster_options_need_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert "add --engine ray" in refused(capsys, ["discover", "x.csv", "--out", "y", "--workers", "2"])
    assert "add --engine ray" in refused(capsys, ["assign", "run", "x.csv", "--out", "y", "--address", "here"])
