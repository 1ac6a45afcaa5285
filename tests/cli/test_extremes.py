"""Odd arguments and odd streams: one sentence each, and no traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import forks
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import InputError

TEXTS, LABELS, _ = planted_corpus(6)
HUGE = "9" * 5000


@pytest.fixture(scope="module")
def whole(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **{**quick, "epochs": 0}).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "RUN", "0", "--into", HUGE],
        ["split", "RUN", HUGE],
        ["merge", "RUN", "0", HUGE],
        ["move", "RUN", HUGE, "--to", "0"],
        ["move", "RUN", "1", "--to", HUGE],
        ["rename", "RUN", HUGE, "x"],
        ["recut", "RUN", "--categories", HUGE],
        ["recut", "RUN", "--categories", f"money={HUGE}"],
        ["ask", "RUN", "--budget", HUGE],
        ["name", "RUN", "--endpoint", "http://127.0.0.1:1", "--model", "m", "--together", HUGE],
        ["discover", "TEXTS", "--out", "NEW", "--seed", HUGE],
        ["discover", "TEXTS", "--out", "NEW", "--categories", HUGE],
        ["discover", "TEXTS", "--out", "NEW", "--categories", f"money={HUGE}"],
        ["discover", "TEXTS", "--out", "NEW", "--epochs", HUGE],
        ["discover", "TEXTS", "--out", "NEW", "--batch-size", HUGE],
        ["discover", "TEXTS", "--out", "NEW", "--learning-rate", HUGE],
    ],
    ids=lambda arguments: " ".join(arguments).replace(HUGE, "HUGE"),
)
def test_a_number_of_five_thousand_digits(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\n" + "\n".join(f"{t},{label}" for t, label in zip(TEXTS, LABELS, strict=True)))
    names = {"RUN": str(run), "TEXTS": str(texts), "NEW": str(tmp_path / "new")}
    error = refused(capsys, [*(names.get(argument, argument) for argument in arguments), "--quiet"])
    assert len(error) < 1000


def test_ids_with_leading_zeros_are_ids(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rename", str(run), "000", "Mine", "--quiet"]) == 0
    assert Discovery.load(run).taxonomy_.by_id()[0].name == "Mine"


@pytest.mark.parametrize("closed", ["1", "2"])
def test_info_with_a_closed_stream(run: Path, closed: str) -> None:
    finished = forks.run(closed, "info", str(run), work=forks.command_without_streams)
    assert finished.returncode == 0, finished.stderr
    assert "Traceback" not in finished.stderr


def test_info_with_closed_streams(run: Path) -> None:
    line = f"{sys.executable} -m subtaxa info {run} >&- 2>&-"
    finished = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("closed", ["1", "2", "12"])
def test_rename_with_closed_streams(run: Path, closed: str) -> None:
    finished = forks.run(closed, "rename", str(run), "0", "Mine", work=forks.command_without_streams)
    assert finished.returncode == 0, finished.stderr
    assert "Traceback" not in finished.stderr
    assert Discovery.load(run).taxonomy_.by_id()[0].name == "Mine"


def test_assign_to_a_closed_stream_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("text\nrefund\n")
    line = f"{sys.executable} -m subtaxa assign {run} {tmp_path / 'new.csv'} --out - --quiet >&-"
    finished = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stderr == "subtaxa: standard output is closed: name a file with --out\n"


@pytest.mark.parametrize("name", ["half \ud800", "byte \udcff", "nul \0 inside"])
def test_a_name_that_no_file_can_hold_is_refused(run: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert "holds a character that no file can hold" in refused(capsys, ["rename", str(run), "0", name, "--quiet"])
    model = Discovery.load(run)
    with pytest.raises(InputError, match="no file can hold"):
        model.taxonomy_.rename(0, name)
    assert len(model.predict(["refund"])) == 1


def test_a_path_that_is_not_utf8_is_refused_before_training(
    tmp_path: Path, tiny_encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, out = tmp_path / "texts.csv", os.fsdecode(os.fsencode(tmp_path) + b"/run-\xff")
    texts.write_text("text,label\n" + "\n".join(f"{t},{label}" for t, label in zip(TEXTS, LABELS, strict=True)))
    error = refused(capsys, ["discover", str(texts), "--out", out, "--encoder", tiny_encoder, "--quiet"])
    assert "is not valid UTF-8: rename it" in error
    assert [path.name for path in tmp_path.iterdir()] == ["texts.csv"]


def test_a_label_column_that_is_there_twice_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.csv").write_text("text,team,team\nrefund,money,post\n")
    command = ["update", str(run), str(tmp_path / "new.csv"), "--label", "team", "--quiet"]
    assert "column 'team' occurs 2 times" in refused(capsys, command)
