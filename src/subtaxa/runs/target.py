"""Whether a folder may be written, and which files of an unfinished run may be removed."""

from __future__ import annotations

import re
from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runs.layout import CHECKPOINT, IDENTITY
from subtaxa.runs.manifest import first_foreign, is_regular
from subtaxa.runtime.folder_lock import check_is_folder

# The files of a checkpoint: its identity, the states of both trainings, and temporary files of killed processes.
_CHECKPOINT_FILE = re.compile(r"identity\.json|(new-|previous-)?(pre)?training\.safetensors")
_TEMPORARY = re.compile(rf"\.({_CHECKPOINT_FILE.pattern})-\w{{8}}")


def check_target(folder: Path, *, overwrite: bool, resume: bool, changed: bool = True) -> None:
    """Refuse a folder that is not empty, unless it holds nothing but a run that the caller may overwrite or resume.

    With `changed`, a file of the run that somebody has changed counts as somebody else's.
    """
    check_is_folder(folder)
    if not folder.exists() or all(path.name.startswith(".") for path in folder.iterdir()):
        return
    foreign = _foreign_in_checkpoint(folder / CHECKPOINT) or first_foreign(folder, changed=changed)
    if foreign:
        raise InputError(
            f"{str(folder)!r} holds a file that is not subtaxa's, or was changed since ({foreign!r}): "
            "name a new folder for the run, or move the file elsewhere"
        )
    if not (overwrite or resume):
        raise InputError(f"{str(folder)!r} already holds a run: name a new folder, or add --overwrite or --resume")


def check_checkpoint(folder: Path) -> None:
    """Refuse a checkpoint folder that is a link, or holds other files than those of a checkpoint."""
    if foreign := _foreign_in_checkpoint(folder):
        raise InputError(f"{str(folder.parent / foreign)!r} is not a file of a checkpoint: move it elsewhere")


def clear_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, and the run folder if nothing else is in it. Other files stay."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_dir() and not _foreign_in_checkpoint(checkpoint):
        for path in sorted(checkpoint.iterdir(), key=lambda path: path.name == IDENTITY):  # Last: it marks our folder.
            path.unlink()
        checkpoint.rmdir()
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()


def remove_temporary(checkpoint: Path) -> None:
    """Remove the temporary files of a process that was killed while writing a checkpoint."""
    for path in checkpoint.glob(".*"):
        if _TEMPORARY.fullmatch(path.name) and is_regular(path):
            path.unlink()


def _foreign_in_checkpoint(checkpoint: Path) -> str:
    """The first file in a checkpoint folder that is not one of a checkpoint, or an empty string."""
    if checkpoint.is_symlink() or (checkpoint.exists() and not checkpoint.is_dir()):
        return checkpoint.name
    inside = sorted(checkpoint.iterdir()) if checkpoint.exists() else []
    begun = any(path.name == IDENTITY for path in inside)
    for path in inside:
        known = _TEMPORARY.fullmatch(path.name) or (begun and _CHECKPOINT_FILE.fullmatch(path.name))
        if not known or not is_regular(path):
            return f"{checkpoint.name}/{path.name}"
    return ""
