"""The runs below a folder: finished ones, and those that can be continued."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subtaxa.errors import SubtaxaError
from subtaxa.report.formatting import shorten
from subtaxa.runs import layout, reading

# How deep below the folder runs are looked for, and how many folders are looked at.
PATTERNS = (".", "*", "*/*")
MAX_FOLDERS = 2000
MAX_RUNS = 100


@dataclass(frozen=True)
class RunHere:
    """A run folder. A run that was stopped has a checkpoint instead of results."""

    folder: Path
    source: str
    texts: int
    labels: int
    created: str
    finished: bool


def runs_below(folder: Path) -> list[RunHere]:
    """The runs in this folder and up to two levels below it, the newest first."""
    found: list[RunHere] = []
    places = (place for pattern in PATTERNS for place in ([folder] if pattern == "." else folder.glob(pattern)))
    for number, place in enumerate(places):
        if number >= MAX_FOLDERS:
            break
        if place.name.startswith(".") or place.is_symlink():
            continue
        if (place / layout.RUN).is_file():
            found += _finished(place)
        elif (place / layout.CHECKPOINT / layout.IDENTITY).is_file():
            found.append(RunHere(place, "", 0, 0, "", finished=False))
    return sorted(found, key=lambda run: (run.finished, run.created), reverse=True)[:MAX_RUNS]


def _finished(place: Path) -> list[RunHere]:
    """The run in a folder, unless its run.json cannot be read."""
    try:
        facts: dict[str, Any] = reading.read_run(place)
    except (SubtaxaError, OSError):
        return []
    data, labels = facts["data"], len(facts["labels"])
    source, created = shorten(str(data["source"]), 120), str(facts["created"])
    return [RunHere(place, source, int(data["texts"]), labels, created, finished=True)]
