"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO


def follow_umask(path: Path) -> None:
    """Give a file the permissions of the user's other files: those made as temporary ones are private."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` to write to; it takes the name when it is complete and on disk, else it is removed."""
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
    """Write a file in one go."""
    with whole_file(path) as file:
        file.write(content)


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write several files: all are complete and on disk before the first, in their order, takes its name."""
    with ExitStack() as all_of_them:
        for name, content in reversed(list(contents.items())):  # the stack is taken off from its end
            file = all_of_them.enter_context(whole_file(folder / name))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
