"""What a run is of: a digest of its texts, and the check that a training begun earlier is of the same run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from subtaxa.atomic import write_whole
from subtaxa.errors import SubtaxaError
from subtaxa.settings import Settings
from subtaxa.storage import json_text, read_json
from subtaxa.texts import CoarseTexts


def fingerprint(data: CoarseTexts) -> str:
    """A digest of the texts and labels that does not depend on their order."""
    digest = hashlib.sha256()
    for label, text in sorted(zip(data.labels, data.texts, strict=True)):
        digest.update(json.dumps([label, text]).encode())
    return digest.hexdigest()


def open_checkpoint(folder: str | Path | None, data: CoarseTexts, settings: Settings, seed: int) -> Path | None:
    """The checkpoint folder, made if need be; one of other data or settings is refused."""
    if folder is None:
        return None
    path, values = Path(folder), settings.to_dict()
    identity = {"data": fingerprint(data), "seed": seed, "settings": values}
    file = path / "identity.json"
    for left in path.glob(".*"):  # by a process that was killed while it wrote
        left.unlink()
    if file.exists():
        found = read_json(file)
        if not isinstance(found, dict):
            raise SubtaxaError(f"{str(file)!r} is damaged: delete the folder {str(path)!r} and start again")
        if found != identity:
            changed = [k for k, v in values.items() if found.get("settings", {}).get(k) != v]
            what = "other texts" if found.get("data") != identity["data"] else f"another {(changed or ['seed'])[0]}"
            raise SubtaxaError(
                f"{str(path.parent)!r} was begun with {what}: repeat the same command, or --overwrite it"
            )
    else:
        path.mkdir(parents=True, exist_ok=True)
        write_whole(file, json_text(identity).encode())
    return path
