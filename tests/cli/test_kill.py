"""Kills real runs at random moments and resumes them. `make soak` runs a longer campaign."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
from kill import Campaign, problem


@pytest.fixture(scope="module")
def campaign(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("kill"), tiny_encoder, epochs=2, per_topic=8, fresh=False)


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("encoding all texts before training", signal.SIGKILL),
        ("writing a checkpoint", signal.SIGKILL),
        ("finding the categories", signal.SIGKILL),
        ("moving results into place", signal.SIGKILL),
        ("pretraining", signal.SIGTERM),
        ("rendering the report", signal.SIGINT),
    ],
)
def test_a_run_that_is_stopped_anywhere_resumes_to_the_same_result(
    campaign: Campaign, phase: str, number: signal.Signals
) -> None:
    out = campaign.folder / f"{phase} {number.name}"
    stopped = campaign.stop(out, campaign.moment(phase, random.Random(0)), number)
    assert stopped.code in (0, -signal.SIGKILL) or problem(stopped, number, patience=600.0) == ""
    assert campaign.resume(out) == ""


def test_every_phase_of_a_run_is_seen(campaign: Campaign) -> None:
    wanted = "reading the file,pretraining,mining,training,writing a checkpoint,finding the categories,writing results"
    assert {*wanted.split(","), "rendering the report", "moving results into place"} <= set(campaign.phases())
