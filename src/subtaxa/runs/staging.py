"""A run folder is written whole or not at all: into a hidden folder first, then moved into place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subtaxa.runs.layout import ALL_FILES, CHECKPOINT, RUN
from subtaxa.runs.target import clear


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden folder for a whole result. It is moved into place at the end, or removed on failure.

    `run.json` is moved last: a folder that holds it is complete.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    stage = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
    try:
        yield stage
        _sync(stage)
        # From here on, the files of an earlier run are replaced.
        (folder / RUN).unlink(missing_ok=True)
        clear(folder, ALL_FILES - {CHECKPOINT} - {path.name for path in stage.iterdir()})
        for path in sorted(stage.iterdir(), key=lambda p: p.name == RUN):
            target = folder / path.name
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            os.replace(path, target)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise
    stage.rmdir()


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while writing."""
    for stage in folder.glob(".writing-*"):
        shutil.rmtree(stage)
    for name in ALL_FILES:
        for file in folder.glob(f".{name}-*"):
            file.unlink()


def _sync(stage: Path) -> None:
    for path in stage.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
