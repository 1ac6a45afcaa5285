"""A lock that lets only one process at a time write a folder.

The operating system holds the lock and releases it when the process ends, even if it is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from subtaxa.errors import InputError, SubtaxaError

LOCK = ".lock"


class FolderBusyError(SubtaxaError):
    """Another process holds the lock of a folder."""


@contextmanager
def exclusive(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Lock a folder, or raise `FolderBusyError` after `wait` seconds. A process may lock its own folder again.

    The folder is created if it does not exist, and removed at the end if it is still empty.
    """
    from filelock import FileLock, Timeout

    check_is_folder(folder)
    if (folder / LOCK).is_symlink():
        raise InputError(f"{str(folder / LOCK)!r} is a link: delete it")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = FileLock(folder.resolve() / LOCK, is_singleton=True)
    if lock.is_locked:
        yield
        return
    try:
        while not lock.is_locked:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # The last owner has just removed the empty folder.
                lock.acquire(timeout=wait)
    except Timeout as error:
        raise FolderBusyError(
            f"another process is at work on {str(folder)!r}: wait until it has finished, or name another folder"
        ) from error
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # Before the release: filelock never acquires a deleted file.
        lock.release()
        for path in made:
            with suppress(OSError):  # It is not empty, or another process has removed it.
                path.rmdir()


@contextmanager
def try_exclusive(folder: Path) -> Iterator[bool]:
    """Lock a folder if no other process has locked it, and say whether that worked."""
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive(folder))
            locked = True
        except FolderBusyError:
            locked = False
        yield locked


def check_encodable(path: str) -> None:
    """Refuse a path with bytes that are not UTF-8: it could be written, but not named in a file or a report."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the path {path!r} is not valid UTF-8: rename it") from error


def check_is_folder(folder: Path) -> None:
    """Refuse a path that is a file, or cannot be named."""
    check_encodable(str(folder))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: name a folder for the run")
