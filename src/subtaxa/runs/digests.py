"""SHA-256 digests of the files of a run. They reveal damage that safetensors itself would not notice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from subtaxa.errors import InputError
from subtaxa.runs.layout import CLUSTERS, COLUMNS, FEATURES, MODEL, TREE, TREE_NODES, WORDS
from subtaxa.runs.manifest import digest_of


def digests(
    folder: Path, names: Iterable[str] = (CLUSTERS, FEATURES, COLUMNS, TREE, TREE_NODES, WORDS, MODEL)
) -> dict[str, str]:
    """The SHA-256 of each file of a run that edits never change, by its path in the folder."""
    found = (path for name in names for path in (folder / name, *sorted((folder / name).rglob("*"))))
    files = [path for path in found if path.is_file() and path.name != "README.md"]
    return {path.relative_to(folder).as_posix(): digest_of(path) for path in files}


def verify(folder: Path, facts: Mapping[str, Any], *names: str) -> None:
    """Refuse a run in which one of these files or folders has changed since it was written."""
    files = facts.get("files")
    if not isinstance(files, dict):  # Older runs have no digests.
        return
    now = digests(folder, names)
    for name, digest in files.items():
        if name in now and now[name] != digest:
            raise InputError(
                f"{str(folder / name)!r} is damaged (it has changed since it was written): run discover again"
            )
        if name not in now and name.partition("/")[0] in names:
            raise InputError(f"{str(folder / name)!r} is missing: the run folder is not complete, run discover again")
