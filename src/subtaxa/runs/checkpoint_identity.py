"""What a run is of: a digest of its texts, and the check that a training begun earlier is of the same run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subtaxa.data.texts import CoarseTexts
from subtaxa.errors import SubtaxaError
from subtaxa.runs.layout import CHECKPOINT, clear_checkpoint, read_json, read_run
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.json_files import json_text
from subtaxa.settings import Settings

IDENTITY = "identity.json"
WANTED = ("seed", "categories", "granularity")


def fingerprint(data: CoarseTexts) -> str:
    """A digest of the texts and labels that does not depend on their order."""
    digest = hashlib.sha256()
    for label, text in sorted(zip(data.labels, data.texts, strict=True)):
        digest.update(json.dumps([label, text]).encode())
    return digest.hexdigest()


def open_checkpoint(
    folder: str | Path | None, data: CoarseTexts, settings: Settings, wanted: Mapping[str, Any]
) -> Path | None:
    """The checkpoint folder, made if need be; one of other data or settings, or with another seed or number `wanted`,
    is refused."""
    if folder is None:
        return None
    path = Path(folder)
    identity = _identity(fingerprint(data), settings.to_dict(), wanted)
    file = path / IDENTITY
    for left in path.glob(".*"):  # by a process that was killed while it wrote
        left.unlink()
    if file.exists():
        found = read_json(file)
        if not isinstance(found, dict):
            raise SubtaxaError(f"{str(file)!r} is damaged: delete the folder {str(path)!r} and start again")
        if found != identity:
            changed = [name for name, value in identity.items() if name not in found or found[name] != value]
            what = "other texts" if "data" in changed else f"another {(changed or ['version'])[0]}"
            raise SubtaxaError(
                f"{str(path.parent)!r} was begun with {what}: repeat the same command, or --overwrite it"
            )
    else:
        path.mkdir(parents=True, exist_ok=True)
        write_whole(file, json_text(identity).encode())
    return path


@contextmanager
def unless_refused(folder: Path | None) -> Iterator[None]:
    """Leave no checkpoint folder behind if the training is refused before anything was saved."""
    try:
        yield
    except SubtaxaError:
        if folder is not None and not any(folder.glob("*.safetensors")):
            clear_checkpoint(folder.parent)
        raise


def check_not_begun_over(folder: Path) -> None:
    """Refuse to call a run finished if another one was begun over it, with --overwrite, and stopped."""
    file = folder / CHECKPOINT / IDENTITY
    if not file.exists():
        return
    facts = read_run(folder)
    if read_json(file) != _identity(facts["data"]["fingerprint"], facts["settings"], facts):
        raise SubtaxaError(
            f"{str(folder)!r} holds a finished run, and another one was begun over it: add --overwrite to go on with "
            f"that one, or delete {str(file.parent)!r} to keep the finished one"
        )


def _identity(data: str, settings: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a training to go on."""
    identity = {"data": data, **settings, **{name: wanted[name] for name in WANTED}}
    return dict(json.loads(json_text(identity)))
