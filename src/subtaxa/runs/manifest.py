"""The manifest of a run folder: every file that subtaxa wrote into it, with its SHA-256.

Only files that the manifest lists, and that still are what was written, are ever deleted. It also says which log of
edits the tables and the report show.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from subtaxa.errors import InputError
from subtaxa.runs.layout import ALL_FILES, CHECKPOINT, EDITS, MANIFEST, MODEL, RUN
from subtaxa.runtime import json_files

SHAPE = {"files": {str: str}, "shown": str}
NO_EDITS = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Manifest:
    """The files of a run by their path in the folder, and the digest of the log that its tables show."""

    files: Mapping[str, str] = field(default_factory=dict)
    shown: str = NO_EDITS

    def text(self) -> str:
        """The content of manifest.json."""
        return json_files.json_text({"files": dict(sorted(self.files.items())), "shown": self.shown})


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_log(folder: Path) -> str:
    """The digest of the log of edits. A run without a log has the digest of an empty one."""
    path = folder / EDITS
    return digest_of(path) if path.exists() else NO_EDITS


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run. A run of version 0.1 has none: its files are known by their names."""
    path = folder / MANIFEST
    if not path.exists():
        return _without_manifest(folder)
    try:
        content = json_files.read_json(path)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is damaged ({error}): run discover again in a new folder") from error
    found = json_files.difference(content, SHAPE) or next((n for n in content["files"] if not is_safe(n)), None)
    if found:
        raise InputError(f"{str(path)!r} is damaged ({found}): run discover again in a new folder")
    return Manifest(content["files"], content["shown"])


def shows_log(folder: Path) -> bool:
    """Whether the tables of a run show its log of edits. They do not if a series of edits was stopped midway."""
    return read_manifest(folder).shown == digest_of_log(folder)


def is_safe(name: str) -> bool:
    """Whether a path is that of a file in a run folder: relative, without dots, and not in the checkpoint."""
    parts = PurePosixPath(name).parts
    return (
        "/".join(parts) == name
        and parts[:1] != (CHECKPOINT,)
        and not any(part.startswith(".") or "\\" in part or "\0" in part for part in parts)
    )


def files_in(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is not itself a folder. Links are not followed; the checkpoint is left out."""
    for place, folders, names in os.walk(folder):
        if Path(place) == folder:
            folders[:] = [name for name in folders if name != CHECKPOINT and not name.startswith(".")]
            names = [name for name in names if not name.startswith(".")]
        yield from (Path(place, name) for name in names)
        yield from (path for name in folders if (path := Path(place, name)).is_symlink() or not any(path.iterdir()))


def first_foreign(folder: Path, *, changed: bool = True) -> str | None:
    """The first file in a run folder that subtaxa did not write or, with `changed`, that was changed since."""
    known = read_manifest(folder).files
    for path in sorted(files_in(folder)):
        name = path.relative_to(folder).as_posix()
        if name == MANIFEST and is_regular(path):
            continue
        if name not in known or not is_regular(path) or (changed and digest_of(path) != known[name]):
            return name
    return None


def is_regular(path: Path) -> bool:
    """Whether a path is a file, and not a link to one."""
    return stat.S_ISREG(path.lstat().st_mode)


def _without_manifest(folder: Path) -> Manifest:
    """The files of a run of an earlier version: run.json lists the model, the others have names of ours."""
    try:
        facts = json_files.read_json(folder / RUN)
        digests = facts.get("files", {}) if "format" in facts else None
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        digests = None
    if not isinstance(digests, dict):
        return Manifest()
    present = {path.relative_to(folder).as_posix(): path for path in files_in(folder) if is_regular(path)}
    ours = {n: path for n, path in present.items() if n in ALL_FILES or n == f"{MODEL}/README.md"}
    if not digests:
        ours |= {name: path for name, path in present.items() if name.startswith(f"{MODEL}/")}
    listed = {name: str(digest) for name, digest in digests.items() if is_safe(name)}
    return Manifest({name: digest_of(path) for name, path in ours.items()} | listed, digest_of_log(folder))
