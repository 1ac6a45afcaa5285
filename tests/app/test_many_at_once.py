"""Many uses of a run at the same moment: each change is made or refused, and the run is whole. Long logs stay small."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
from commands import Commands
from load import many_edits, ten_assigns, writers_at_once


@pytest.fixture(scope="module")
def commands(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands(tmp_path_factory.mktemp("commands"), tiny_encoder)


def test_an_app_session_and_commands_at_once_leave_a_whole_run(commands: Commands) -> None:
    assert "the run was whole each time" in writers_at_once(commands, rounds=2)


def test_ten_assigns_at_once_write_the_same_file(commands: Commands) -> None:
    assert "10 of 10 succeeded" in ten_assigns(commands)


def test_a_long_log_stays_small(commands: Commands) -> None:
    told = many_edits(commands, 3000)
    (size,) = re.findall(r"has (\d+\.\d+) MB", told)
    assert float(size) < 1, told
