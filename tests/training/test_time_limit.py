"""A time limit ends the training early, and the run is as whole as any other."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import SettingError
from subtaxa.runtime.durations import parse_duration


@pytest.fixture
def source(tmp_path: Path) -> Path:
    texts, labels, _ = planted_corpus(20)
    path = tmp_path / "planted.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return path


def test_no_time_is_left_for_training(quick: dict[str, object]) -> None:
    texts, labels, _ = planted_corpus(8)
    model = Discovery(6, **quick).fit(texts, labels, time_limit=0)
    untrained = Discovery(6, method="bert", **quick | {"epochs": 0}).fit(texts, labels)
    assert len(model.history_) == 1
    assert len(model.taxonomy_) == len(untrained.taxonomy_) == 6
    assert abs(model.features_ - untrained.features_).max() < 1e-5


def test_enough_time_changes_nothing(quick: dict[str, object]) -> None:
    texts, labels, _ = planted_corpus(8)
    limited, unlimited = (Discovery(6, **quick).fit(texts, labels, time_limit=limit) for limit in (3600, None))
    assert (limited.features_ == unlimited.features_).all()


def test_command_line(source: Path, tmp_path: Path, tiny_encoder: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = ["discover", str(source), "--out", str(out), "--encoder", tiny_encoder, "--categories", "6"]
    assert main([*arguments, "--time-limit", "0s"]) == 0
    said = capsys.readouterr().err
    assert "the time limit is near" in said
    assert "A first look, before training: 6 categories" in said
    assert not (out / "checkpoint").exists()
    assert len(Discovery.load(out).taxonomy_) == 6
    assert "--time-limit is 'soon'" in refused(capsys, [*arguments, "--time-limit", "soon"])


@pytest.mark.parametrize(("given", "seconds"), [("90", 90), ("60s", 60), ("5m", 300), ("5 min", 300), ("1.5h", 5400)])
def test_durations(given: str, seconds: float) -> None:
    assert parse_duration(given, "--time-limit") == seconds


@pytest.mark.parametrize("given", ["", "-5s", "5d", "1e9", "nan", "٣s", "9" * 5000])
def test_refused_durations(given: str) -> None:
    with pytest.raises(SettingError, match="must be a duration such as"):
        parse_duration(given, "--time-limit")
