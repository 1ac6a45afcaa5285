"""Files of a run folder are replaced together: all of them or none, even if the process is killed at any moment.

New files are written into a hidden folder of the run folder. When they are complete and on disk, one rename makes it
the folder `.commit`: until then the old state counts, from then on the new one. The files are then moved into place. If
the process is killed meanwhile, the next command that opens the run moves the rest (`recover`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from subtaxa.errors import InputError
from subtaxa.runs.layout import ALL_FILES, EDITS, MANIFEST
from subtaxa.runs.manifest import Manifest, digest_of, digest_of_log, is_regular, is_safe, read_manifest
from subtaxa.runtime import json_files
from subtaxa.runtime.folder_lock import exclusive

COMMIT = ".commit"
# Inside the hidden folder: the new files, and the list of the old ones that are to be removed, with their digests.
NEW, PLAN = "new", "plan.json"
PLAN_SHAPE = {"remove": {str: str}}
# Seconds to wait for another command that is moving files into place.
WAIT = 20.0


@contextmanager
def staged(folder: Path, *, whole: bool = True, shown: bool = True) -> Iterator[Path]:
    """A hidden folder for new files. At the end, they replace the files of the run folder together.

    If they are the `whole` run, files of the old run that have no successor are removed. After a failure, the run
    folder is as it was. `shown` tells whether the new tables show the new log of edits.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    recover(folder)
    remove_leftovers(folder)
    stage = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
    try:
        (stage / NEW).mkdir()
        yield stage / NEW
        _plan(folder, stage, whole=whole, shown=shown)
        _sync(stage)
        os.rename(stage, folder / COMMIT)
    except BaseException:
        if stage.exists():
            shutil.rmtree(stage, ignore_errors=True)
            for path in made:
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
        raise
    _apply(folder)


def replace_files(folder: Path, contents: Mapping[str, bytes], *, shown: bool = True) -> None:
    """Replace some files of a run together. A name may be a path, as in model/README.md."""
    with staged(folder, whole=False, shown=shown) as stage:
        for name, content in contents.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(content)


def recover(folder: Path) -> None:
    """Finish what a killed process had begun to move into place."""
    commit = folder / COMMIT
    for path in (commit, commit / NEW, commit / PLAN):
        if path.is_symlink():  # Files elsewhere would be moved here.
            raise InputError(f"{str(path)!r} is a link: delete {str(commit)!r}")
        if path.exists() and not (path.is_file() if path.name == PLAN else path.is_dir()):
            raise InputError(f"{str(path)!r} is not what subtaxa wrote: delete {str(commit)!r}")
    if commit.is_dir():
        with exclusive(folder, WAIT):
            _apply(folder)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while writing. The caller has locked the folder."""
    for stage in folder.glob(".writing-????????"):
        inside = {path.name for path in stage.iterdir()} if stage.is_dir() and not stage.is_symlink() else {stage.name}
        if inside <= {NEW, PLAN}:
            shutil.rmtree(stage)
    for name in ALL_FILES:
        for file in folder.glob(f".{name}-????????"):
            if is_regular(file):
                file.unlink()


def _plan(folder: Path, stage: Path, *, whole: bool, shown: bool) -> None:
    """Write the new manifest, and the list of old files to remove."""
    new = {path.relative_to(stage / NEW).as_posix(): path for path in (stage / NEW).rglob("*") if path.is_file()}
    for name in new:
        check_no_link(folder, name)
    old = read_manifest(folder)
    removed = {name: digest for name, digest in old.files.items() if name not in new} if whole else {}
    kept = {} if whole else dict(old.files)
    log = digest_of_log(stage / NEW if whole or (stage / NEW / EDITS).exists() else folder)
    manifest = Manifest(kept | {name: digest_of(path) for name, path in new.items()}, log if shown else old.shown)
    (stage / NEW / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    (stage / PLAN).write_text(json_files.json_text({"remove": removed}), encoding="utf-8")


def _apply(folder: Path) -> None:
    """Move the files of a finished commit into place. It can be repeated from any point at which it was stopped."""
    commit = folder / COMMIT
    if not commit.is_dir():  # Another process has just done it.
        return
    if (commit / PLAN).exists():  # It is removed first when everything is in place.
        for name, digest in _removed(commit / PLAN).items():
            path = folder / name
            check_no_link(folder, name)
            if path.is_file() and digest_of(path) == digest:
                path.unlink()
                with suppress(OSError):  # It is not empty.
                    path.parent.rmdir()
        for path in sorted((commit / NEW).rglob("*")):
            name = path.relative_to(commit / NEW).as_posix()
            if path.is_dir() and not path.is_symlink():
                continue
            if not is_safe(name) or PurePosixPath(name).parts[0] not in ALL_FILES or not is_regular(path):
                raise InputError(f"{str(path)!r} is not a file of a run: delete {str(commit)!r}")
            check_no_link(folder, name)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, folder / name)
        _sync_folder(folder)
        (commit / PLAN).unlink()
    shutil.rmtree(commit)


def _removed(plan: Path) -> dict[str, str]:
    try:
        content = json_files.read_json(plan)
        wrong = json_files.difference(content, PLAN_SHAPE) or next((n for n in content["remove"] if not is_safe(n)), "")
    except (ValueError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        raise InputError(f"{str(plan)!r} is damaged ({wrong}): delete {str(plan.parent)!r}")
    return dict(content["remove"])


def check_no_link(folder: Path, name: str) -> None:
    """Refuse to write or delete a file of a run folder where a link would lead elsewhere."""
    parts = PurePosixPath(name).parts
    for i in range(1, len(parts) + 1):
        path = folder.joinpath(*parts[:i])
        if path.is_symlink():
            raise InputError(f"{str(path)!r} is a link, which subtaxa does not follow: replace it by a copy")
        if path.is_dir() is not (i < len(parts)) and path.exists():
            raise InputError(f"{str(path)!r} is in the way of a file of the run: move it elsewhere")


def _sync(stage: Path) -> None:
    """Make sure that the new files are on disk before the old ones are replaced."""
    for path in stage.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # Some file systems cannot do that for folders.
            os.fsync(handle)
    finally:
        os.close(handle)
