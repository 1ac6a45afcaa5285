"""The identity of a run: its texts, settings and seed. A checkpoint resumes only the run it was written for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subtaxa.data.texts import CoarseTexts
from subtaxa.errors import SubtaxaError
from subtaxa.runs.layout import CHECKPOINT, IDENTITY
from subtaxa.runs.reading import read_json, read_run
from subtaxa.runs.target import check_checkpoint, clear_checkpoint, remove_temporary
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.json_files import json_text
from subtaxa.settings import RENAMED, Settings

# The arguments of Discovery that are part of the identity, besides the settings.
ARGUMENTS = ("seed", "categories", "granularity")


def fingerprint(data: CoarseTexts) -> str:
    """A digest of the texts and labels. It does not depend on their order."""
    digest = hashlib.sha256()
    for label, text in sorted(zip(data.labels, data.texts, strict=True)):
        digest.update(json.dumps([label, text]).encode())
    return digest.hexdigest()


def open_checkpoint(
    folder: str | Path | None, data: CoarseTexts, settings: Settings, arguments: Mapping[str, Any]
) -> Path | None:
    """The checkpoint folder, created if necessary. A checkpoint of other data, settings or arguments is refused."""
    if folder is None:
        return None
    path = Path(folder)
    identity = _identity(fingerprint(data), settings.to_dict(), arguments)
    file = path / IDENTITY
    check_checkpoint(path)
    remove_temporary(path)
    if file.exists():
        found = read_json(file)
        if not isinstance(found, dict):
            raise SubtaxaError(f"{str(file)!r} is damaged: delete the folder {str(path)!r} and run discover again")
        found = {RENAMED.get(name, name): value for name, value in found.items()}
        if found != identity:
            changed = [name for name, value in identity.items() if name not in found or found[name] != value]
            what = "other texts" if "data" in changed else f"another {(changed or ['version'])[0]}"
            raise SubtaxaError(
                f"{str(path.parent)!r} was begun with {what}: repeat the same command, or start over with --overwrite"
            )
    else:
        path.mkdir(parents=True, exist_ok=True)
        write_whole(file, json_text(identity).encode())
    return path


@contextmanager
def removed_if_refused(folder: Path | None) -> Iterator[None]:
    """Remove the checkpoint folder if training is refused before it has saved anything."""
    try:
        yield
    except SubtaxaError:
        if folder is not None and not any(folder.glob("*.safetensors")):
            clear_checkpoint(folder.parent)
        raise


def check_not_superseded(folder: Path) -> None:
    """Refuse a finished run over which another run was begun with --overwrite and then stopped."""
    file = folder / CHECKPOINT / IDENTITY
    if not file.exists():
        return
    facts = read_run(folder)
    if read_json(file) != _identity(facts["data"]["fingerprint"], facts["settings"], facts):
        raise SubtaxaError(
            f"{str(folder)!r} holds a finished run, and another run was begun over it: add --overwrite to continue "
            f"the other one, or delete {str(file.parent)!r} to keep the finished one"
        )


def _identity(data: str, settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a training to be resumed."""
    identity = {"data": data, **settings, **{name: arguments[name] for name in ARGUMENTS}}
    return dict(json.loads(json_text(identity)))
