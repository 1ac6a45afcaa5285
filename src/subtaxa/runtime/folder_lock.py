"""One process at a time writes a run folder. The lock is the system's: it dies with its owner, however that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from subtaxa.errors import InputError, SubtaxaError

LOCK = ".lock"


@contextmanager
def exclusive(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Have a folder to oneself, or be refused after `wait` seconds; who has it already may ask again.

    The folder is made if need be, and removed at the end if nothing came into it.
    """
    from filelock import FileLock, Timeout

    check_is_folder(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = FileLock(folder.resolve() / LOCK, is_singleton=True)
    if lock.is_locked:
        yield
        return
    try:
        while not lock.is_locked:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # who had it before has just removed the empty folder
                lock.acquire(timeout=wait)
    except Timeout as error:
        raise SubtaxaError(
            f"another process is at work on {str(folder)!r}: wait until it is done, or name another folder"
        ) from error
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # while it is ours; filelock does not take a file that is gone
        lock.release()
        for path in made:
            with suppress(OSError):  # something is in it, or somebody was faster
                path.rmdir()


def check_is_folder(folder: Path) -> None:
    """Refuse the name of a file."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: name a folder for the run")
