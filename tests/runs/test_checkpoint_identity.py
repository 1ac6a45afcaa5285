"""Resuming a stopped run: only with the same texts and settings, and never over another run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa.cli.main import main
from subtaxa.runtime.signals import Stopped
from subtaxa.training.trainer import Trainer

TEXTS, LABELS, _ = planted_corpus(8)


@pytest.fixture
def command(tiny_encoder: str, tmp_path: Path) -> list[str]:
    source = tmp_path / "planted.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    flags = "--epochs 2 --batch-size 16 --learning-rate 1e-3 --neighbours 8 --trained-layers 1 --quiet --encoder"
    return ["discover", str(source), "--out", str(tmp_path / "run"), *flags.split(), tiny_encoder]


def stop(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """Run a command until its first epoch is saved."""
    real = Trainer._close_epoch

    def close(self: Trainer, seconds: float) -> None:
        real(self, seconds)
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_close_epoch", close)
        assert main(command) == 130


def test_other_settings_are_another_run(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training depends on the number of categories, even if the number of neighbours is given."""
    stop(monkeypatch, [*command, "--categories", "6"])
    for name, value in (("categories", "7"), ("granularity", "fine"), ("seed", "1"), ("temperature", "0.2")):
        error = refused(capsys, [*command, "--categories", "6", f"--{name}", value, "--resume"])
        assert f"was begun with another {name}: repeat the same command, or start over with --overwrite" in error
    assert main([*command, "--categories", "6", "--resume"]) == 0


def test_an_unfinished_run_over_a_finished_one_is_kept(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main([*command, "--categories", "6"]) == 0
    stop(monkeypatch, [*command, "--categories", "7", "--overwrite"])
    assert (out / "run.json").exists()
    error = refused(capsys, [*command, "--categories", "7", "--resume"])
    assert "holds a finished run, and another run was begun over it: add --overwrite" in error
    assert (out / "checkpoint" / "training.safetensors").exists()
    assert main([*command, "--categories", "7", "--overwrite", "--resume"]) == 0
    assert "7 categories in 3 labels" in capsys.readouterr().out
    assert not (out / "checkpoint").exists()


def test_files_left_by_killed_processes_are_removed(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    stop(monkeypatch, [*command, "--categories", "6"])
    (out / "checkpoint" / ".training.safetensors-abcdefgh").write_bytes(b"half")
    (out / ".writing-abcdefgh").mkdir()
    assert main([*command, "--categories", "6", "--resume"]) == 0
    assert not [path.name for path in out.rglob(".*")]
    (out / ".writing-abcdefgh").mkdir()
    (out / ".taxonomy.json-abcdefgh").write_bytes(b"half")
    assert main([*command, "--categories", "6", "--resume"]) == 0
    assert "already finished" in capsys.readouterr().out
    assert not [path.name for path in out.rglob(".*")]
    (out / ".taxonomy.json-abcdefgh").write_bytes(b"half")
    assert main(["rename", str(out), "0", "Mine", "--quiet"]) == 0
    assert not [path.name for path in out.rglob(".*")]


def test_a_checkpoint_of_another_encoder_with_the_same_name_is_refused(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    from subtaxa.training import checkpoint

    stop(monkeypatch, [*command, "--categories", "6"])
    state = tmp_path / "run" / "checkpoint" / "training.safetensors"
    tensors, facts = checkpoint.load_state(state)
    name = next(name for name in tensors if name.startswith("weights/tower/"))
    checkpoint.save_state(state, tensors | {name: torch.zeros(3)}, facts)
    error = refused(capsys, [*command, "--categories", "6", "--resume"])
    assert "is of another encoder or version: delete its folder and start again" in error


@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_a_damaged_identity_is_refused(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
) -> None:
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "run" / "checkpoint" / "identity.json").write_text(content)
    assert "identity.json' is damaged" in refused(capsys, [*command, "--resume"])
