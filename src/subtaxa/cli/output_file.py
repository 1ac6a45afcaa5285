"""A file that a command writes besides run folders."""

from __future__ import annotations

from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runtime.terminal import say


def new_file(name: str, *, overwrite: bool) -> Path:
    """The path of a file to write. One that exists is refused unless it may be overwritten."""
    target = Path(name)
    if target.exists() and not overwrite:
        raise InputError(f"{str(target)!r} exists: choose another file or add --overwrite")
    return target


def write_file(target: Path, content: bytes) -> None:
    """Write the whole file or nothing, and say so."""
    from subtaxa.runtime.atomic_files import write_whole

    try:
        write_whole(target, content)
    except OSError as error:
        raise InputError(f"{str(target)!r} cannot be written ({error.strerror}): choose another file") from error
    say(f"wrote {target}")
