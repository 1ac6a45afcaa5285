"""A full or read-only disk gives one sentence, and earlier files stay usable. The tests use small real disks."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import SubtaxaError
from subtaxa.training import checkpoint

TEXTS, LABELS, _ = planted_corpus(8)


class Disk:
    """A file system in memory whose size can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._call("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder))

    def limit(self, kilobytes: int) -> None:
        self._call("mount", "-o", f"remount,rw,size={kilobytes}k", str(self.folder))

    def freeze(self) -> None:
        self._call("mount", "-o", "remount,ro", str(self.folder))

    def used(self) -> int:
        """Kilobytes."""
        found = os.statvfs(self.folder)
        return (found.f_blocks - found.f_bfree) * found.f_frsize // 1024

    def close(self) -> None:
        self._call("umount", "--lazy", str(self.folder))

    def _call(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    try:
        made = Disk(tmp_path / "disk")
    except (subprocess.CalledProcessError, OSError):
        pytest.skip("only root may mount a small disk")
    yield made
    made.close()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("disk") / "planted.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    return path


@pytest.fixture(scope="module")
def whole(source: Path, tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert main(discover(source, out, tiny_encoder)) == 0
    return out


def discover(source: Path, out: Path, encoder: str, *more: str) -> list[str]:
    flags = "--epochs 1 --batch-size 16 --learning-rate 1e-3 --categories 6 --trained-layers 1 --quiet --encoder"
    return ["discover", str(source), "--out", str(out), *flags.split(), encoder, *more]


def same(first: Path, second: Path) -> bool:
    return all((first / n).read_bytes() == (second / n).read_bytes() for n in ("assignments.csv", "categories.csv"))


def test_a_disk_that_is_full_at_any_point_gives_one_sentence_and_the_run_resumes(
    source: Path, whole: Path, tiny_encoder: str, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The size of the disk grows from almost nothing, so that each time a different file does not fit."""
    out = disk.folder / "run"
    for kilobytes in (4, 150, 350, 550):
        disk.limit(kilobytes)
        error = refused(capsys, discover(source, out, tiny_encoder, "--resume"))
        assert error.startswith("subtaxa: cannot ")
        assert "free some space, then add --resume to the same command" in error
        assert not (out / "run.json").exists()
        assert not list(disk.folder.rglob(".writing-*"))
        assert not list(disk.folder.rglob("new-*"))
    disk.limit(64 * 1024)
    assert main(discover(source, out, tiny_encoder, "--resume")) == 0
    assert same(out, whole)


def test_an_old_run_survives_a_full_disk(
    source: Path, whole: Path, tiny_encoder: str, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(whole, disk.folder / "run"))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    disk.limit(disk.used() + 200)
    error = refused(capsys, discover(source, out, tiny_encoder, "--overwrite", "--seed", "1"))
    assert "free some space" in error
    shutil.rmtree(out / "checkpoint", ignore_errors=True)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert len(Discovery.load(out).predict(["refund owed"])) == 1


def test_an_edit_on_a_full_disk_changes_nothing(whole: Path, disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    """The edit log would fit but the report would not, so neither is changed."""
    out = Path(shutil.copytree(whole, disk.folder / "run"))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    disk.limit(disk.used() + 40)
    error = refused(capsys, ["rename", str(out), "0", "Mine", "--quiet"])
    assert "free some space, then run the same command again" in error
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    disk.limit(64 * 1024)
    assert main(["rename", str(out), "0", "Mine", "--quiet"]) == 0
    assert Discovery.load(out).taxonomy_[0].name == "Mine"


def test_a_read_only_folder_can_be_read_but_not_written(
    source: Path, whole: Path, tiny_encoder: str, disk: Disk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(whole, disk.folder / "run"))
    disk.freeze()
    for command in (
        discover(source, disk.folder / "new", tiny_encoder),
        discover(source, out, tiny_encoder, "--overwrite"),
        ["rename", str(out), "0", "Mine", "--quiet"],
        ["update", str(out), str(source), "--quiet"],
    ):
        assert "Read-only file system; check the path and its permissions" in refused(capsys, command)
    assert main(["assign", str(out), str(source), "--out", str(tmp_path / "a.csv"), "--quiet"]) == 0
    assert main(["info", str(out)]) == 0


def test_a_run_folder_that_vanishes_gives_one_sentence(
    source: Path,
    tiny_encoder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = checkpoint.save_state

    def vanish(*given: Any) -> None:
        shutil.rmtree(tmp_path / "run")
        real(*given)

    monkeypatch.setattr(checkpoint, "save_state", vanish)
    error = refused(capsys, discover(source, tmp_path / "run", tiny_encoder))
    assert "No such file or directory; check the path" in error


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_truncated_encoder_gives_one_sentence(
    source: Path, tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], share: float
) -> None:
    torn = Path(shutil.copytree(tiny_encoder, tmp_path / "torn"))
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: int(share * weights.stat().st_size)])
    error = refused(capsys, discover(source, tmp_path / "run", str(torn)))
    assert f"cannot load the encoder {str(torn)!r}" in error
    assert not (tmp_path / "run").exists()


def test_an_input_that_vanishes_gives_one_sentence(
    tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(capsys, discover(tmp_path / "gone.csv", tmp_path / "run", tiny_encoder, "--resume"))
    assert "gone.csv" in error
    assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_is_ignored_and_the_result_is_the_same(
    source: Path,
    tiny_encoder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from subtaxa.training.trainer import Trainer

    out, real = tmp_path / "run", Trainer._close_epoch
    longer = discover(source, out, tiny_encoder, "--epochs", "3")
    longer.remove("--quiet")

    def stop(self: Trainer, seconds: float) -> None:
        real(self, seconds)
        if self.state.epoch == 2:
            raise SubtaxaError("enough")

    with monkeypatch.context() as stopping:
        stopping.setattr(Trainer, "_close_epoch", stop)
        assert main(longer) == 2
    state = out / "checkpoint" / "training.safetensors"
    content = bytearray(state.read_bytes())
    content[-5] ^= 1
    state.write_bytes(content)
    capsys.readouterr()
    assert main([*longer, "--resume"]) == 0
    assert f"the checkpoint {str(state)!r} is damaged: continuing from the previous one" in capsys.readouterr().err
    other = [*longer, "--out", str(tmp_path / "other")]
    assert main(other) == 0
    assert same(out, tmp_path / "other")
