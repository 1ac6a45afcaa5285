"""The campaign of soak/evil.py: a few mutations are harmless, and whatever reaches out of the folder is reported."""

from __future__ import annotations

import random
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
import evil
from evil import Evil, campaign


def test_mutated_runs_reach_nothing_outside(tiny_encoder: str, tmp_path: Path) -> None:
    counts, wrong = campaign(tmp_path, tiny_encoder, 12, seed=0)
    assert wrong == []
    assert counts.total() == 12


@pytest.mark.parametrize(
    ("harm", "report"),
    [
        (lambda outside: (outside / "secret").read_text(), "opens .*/outside/secret; secret was read"),
        (lambda outside: (outside / "new").mkdir(), "new was made"),
        (lambda outside: socket.getaddrinfo("localhost", 9), r"socket\.getaddrinfo"),
        (lambda outside: input(), r"builtins\.input"),
        (lambda outside: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_whatever_reaches_out_is_reported(
    tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], object], report: str
) -> None:
    trial = Evil(tmp_path, tiny_encoder)
    monkeypatch.setattr("subtaxa.cli.main.main", lambda arguments: (harm(trial.outside) and 0) or 0)
    monkeypatch.setattr(evil, "COMMANDS", ("info",))
    _, _, wrong = trial.trial(0, random.Random(0))
    assert re.search(report, wrong), wrong
