"""An app session and commands in terminals at the same moment: each change is made or refused, and the run is whole."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
from commands import Commands
from load import writers_at_once


def test_an_app_session_and_commands_at_once_leave_a_whole_run(tiny_encoder: str, tmp_path: Path) -> None:
    assert "the run was whole each time" in writers_at_once(Commands(tmp_path, tiny_encoder), rounds=2)
