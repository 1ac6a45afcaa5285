"""The runs below a folder: finished ones, and those that can be continued."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from subtaxa.errors import SubtaxaError
from subtaxa.report.formatting import shorten
from subtaxa.runs import layout, reading

# How deep below the folder runs are looked for, and how many folders are looked at.
DEPTH = 2
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
    for place in islice(_folders(folder), MAX_FOLDERS):
        if (place / layout.RUN).is_file():
            found += _finished(place)
        elif (place / layout.CHECKPOINT / layout.IDENTITY).is_file():
            found.append(RunHere(place, "", 0, 0, "", finished=False))
    return sorted(found, key=lambda run: (run.finished, run.created), reverse=True)[:MAX_RUNS]


def _folders(folder: Path) -> Iterator[Path]:
    """The folder and those below it. Hidden folders are left out, and links are not followed."""
    left = deque([(folder, 0)])
    while left:
        place, depth = left.popleft()
        yield place
        if depth < DEPTH:
            with suppress(OSError), os.scandir(place) as entries:  # It may not be readable.
                inside = (e for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
                left.extend((Path(entry), depth + 1) for entry in inside)


def _finished(place: Path) -> list[RunHere]:
    """The run in a folder, unless its run.json cannot be read."""
    try:
        facts: dict[str, Any] = reading.read_run(place)
    except (SubtaxaError, OSError):
        return []
    data, labels = facts["data"], len(facts["labels"])
    source, created = shorten(str(data["source"]), 120), str(facts["created"])
    return [RunHere(place, source, int(data["texts"]), labels, created, finished=True)]
