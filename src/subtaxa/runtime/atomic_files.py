"""Atomic writes: a file is complete, or it is not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def follow_umask(path: Path) -> None:
    """Give a file the permissions of a newly created one. Temporary files are readable by their owner only."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file that is renamed to `path` once it is complete and on disk, or removed after an error."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        follow_umask(Path(temporary))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with whole_file(path) as file:
        file.write(content)
