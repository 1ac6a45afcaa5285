"""Processes are really killed: a run resumed by another process has the result of an uninterrupted one."""

from __future__ import annotations

import csv
import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import forks
from helpers.commands import refused
from helpers.corpus import planted_corpus
from safetensors.numpy import load_file

from subtaxa.cli.main import main

EPOCHS = 4


def command(source: Path, out: Path, encoder: str, *more: str) -> list[str]:
    fixed = f"--epochs {EPOCHS} --batch-size 16 --trained-layers all --learning-rate 1e-3 --neighbours 20"
    fixed += " --categories 6 --pretrain-epochs 2"
    return ["discover", str(source), "--out", str(out), "--encoder", encoder, *fixed.split(), *more]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts, labels, _ = planted_corpus(20)
    path = tmp_path_factory.mktemp("data") / "planted.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))
    return path


@pytest.fixture(scope="module")
def uninterrupted(source: Path, tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert main(command(source, out, tiny_encoder, "--quiet")) == 0
    return out


def stop_midway(arguments: list[str], out: Path, number: signal.Signals) -> tuple[int | None, str]:
    """Start the command, wait for its first saved epoch, let it start the next one, and send the signal.

    Returns the exit code and what was written to standard error.
    """
    process = forks.Fork(forks.command, *arguments)
    state = out / "checkpoint" / "training.safetensors"
    while not state.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(number)
    error = process.communicate()[1]
    return process.returncode, error


def same_result(first: Path, second: Path) -> None:
    assert (first / "assignments.csv").read_text() == (second / "assignments.csv").read_text()
    assert (first / "categories.csv").read_text() == (second / "categories.csv").read_text()
    ours, theirs = (load_file(folder / "model" / "model.safetensors") for folder in (first, second))
    for name, weights in ours.items():
        np.testing.assert_array_equal(weights, theirs[name], err_msg=name)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_resumes_to_the_same_result(
    source: Path, tiny_encoder: str, uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "run"
    code, error = stop_midway(command(source, out, tiny_encoder), out, number)
    assert not (out / "run.json").exists()
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL
    else:
        assert code == 128 + number
        assert "--resume" in error
        assert "Traceback" not in error
    assert main(command(source, out, tiny_encoder, "--resume", "--quiet")) == 0
    same_result(uninterrupted, out)
    facts = json.loads((out / "run.json").read_text())
    assert len([row for row in facts["history"] if "pretraining" not in row]) == EPOCHS
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in uninterrupted.iterdir())


def test_resume_refuses_other_data_and_settings(
    source: Path, tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    stop_midway(command(source, out, tiny_encoder), out, signal.SIGTERM)
    saved = (out / "checkpoint" / "training.safetensors").read_bytes()
    changed = command(source, out, tiny_encoder, "--resume", "--temperature", "0.2", "--quiet")
    assert "begun with another temperature" in refused(capsys, changed)
    other = tmp_path / "other.csv"
    other.write_text("text,label\na,x\nb,y\nc,x\n")
    changed = command(other, out, tiny_encoder, "--resume", "--categories", "2", "--quiet")
    assert "begun with other texts" in refused(capsys, changed)
    assert (out / "checkpoint" / "training.safetensors").read_bytes() == saved
    assert "already holds a run" in refused(capsys, command(source, out, tiny_encoder, "--quiet"))
    for name in ("training", "previous-training"):
        (out / "checkpoint" / f"{name}.safetensors").write_bytes(saved[: len(saved) // 2])
    assert "is damaged" in refused(capsys, command(source, out, tiny_encoder, "--resume", "--quiet"))


def test_a_full_disk_leaves_nothing_half_written(source: Path, tiny_encoder: str, tmp_path: Path) -> None:
    """The limit on file size makes the kernel refuse the write in the middle of the checkpoint, as a full disk does."""
    out = tmp_path / "run"
    done = forks.run(*command(source, out, tiny_encoder), file_size=200 * 1024)
    assert done.returncode == 2, done.stderr
    assert "free some space" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    left = [p.name for p in out.rglob("*")] if out.exists() else []
    assert set(left) <= {"checkpoint", "identity.json"}
    assert main(command(source, out, tiny_encoder, "--resume", "--quiet")) == 0
