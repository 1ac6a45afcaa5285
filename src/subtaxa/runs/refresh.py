"""Bring the tables and the report of a run up to date with its log of edits."""

from __future__ import annotations

from pathlib import Path

from subtaxa.runs.load import load_run
from subtaxa.runs.manifest import shows_log
from subtaxa.runs.save import save_edits
from subtaxa.runtime.folder_lock import exclusive

# Seconds to wait for another command that uses the run.
WAIT = 20.0


def refresh(folder: Path) -> None:
    """Write the tables and the report again if they are older than the log."""
    if not shows_log(folder):
        with exclusive(folder, WAIT):
            save_edits(load_run(folder), folder)
