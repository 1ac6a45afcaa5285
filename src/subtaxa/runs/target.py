"""May this folder be written? Which files of a run may be removed?"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runs.layout import ALL_FILES, CHECKPOINT
from subtaxa.runtime.folder_lock import check_is_folder


def check_target(folder: Path, *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder that is not empty, unless it holds a run that the caller may overwrite or resume."""
    check_is_folder(folder)
    inside = {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.exists() else set()
    if not inside:
        return
    foreign = sorted(inside - ALL_FILES)
    if foreign:
        raise InputError(f"{str(folder)!r} holds other files ({foreign[0]!r}): name a new folder for the run")
    if not (overwrite or resume):
        raise InputError(f"{str(folder)!r} already holds a run: name a new folder, or add --overwrite or --resume")


def clear(folder: Path, names: Collection[str] = ALL_FILES) -> None:
    """Remove the files of a run and nothing else."""
    for name in names:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def clear_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, and the run folder if nothing else is in it."""
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
