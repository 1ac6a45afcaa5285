"""A benchmark run: its job, its folder and its record. A folder that holds a record is finished."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.json_files import json_text
from subtaxa.settings import RENAMED

RECORD, MAP, CHECKPOINT, IDENTITY = "record.json", "map.csv", "checkpoint", "identity.json"
FORMAT = 1
# Protocols of 0.1 and their current names. Records of 0.1 hold the old ones.
RENAMED_PROTOCOLS = {"lowest": "best-inertia"}


@dataclass(frozen=True)
class Job:
    """What to run. `changes` are settings that replace those of the preset and of the budget."""

    dataset: str
    method: str
    preset: str = "default"
    seed: int = 0
    limit: int | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    budget: str | None = None

    @property
    def variant(self) -> str:
        """The budget or the preset, and the changes, as a folder name: short, default_epochs=4."""
        changed = dict(sorted(self.changes.items())) | ({"limit": self.limit} if self.limit else {})
        name = self.budget or self.preset
        parts = [name, *(f"{setting.replace('_', '-')}={value}" for setting, value in changed.items())]
        plain = "_".join(parts)
        if len(plain) <= 100 and all(c.isalnum() or c in "-_=.+" for c in plain):
            return plain
        return f"{name}_{hashlib.sha256(plain.encode()).hexdigest()[:12]}"

    def folder(self, root: Path) -> Path:
        return root / self.dataset / self.method / self.variant / f"seed-{self.seed}"

    def __str__(self) -> str:
        return f"{self.dataset} {self.method} {self.variant} seed {self.seed}"


@dataclass(frozen=True)
class Record:
    """A finished run, as read from its folder. The keys of the file are attributes."""

    content: Mapping[str, Any]
    folder: Path

    def __getattr__(self, name: str) -> Any:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None

    def score(self, protocol: str, measure: str) -> float:
        return float(self.content["scores"][protocol][measure])

    @property
    def budget(self) -> str | None:
        """The name of the budget. Runs without one, and those of 0.1, have their own settings."""
        return self.content.get("budget")

    @property
    def code(self) -> Mapping[str, str]:
        """The digest of each file that the result depends on (code_digest.py). Records of 0.1 have none."""
        return dict(self.content.get("code", {}).get("files", {}))


def write_record(folder: Path, content: Mapping[str, Any]) -> Record:
    write_whole(folder / RECORD, json_text({"format": FORMAT, **content}).encode())
    return Record(content, folder)


def read_record(folder: Path) -> Record | None:
    """The record of a finished run, or None."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT or "scores" not in content:
        raise SubtaxaError(f"{str(path)!r} is not a run record of this version: delete it and run the job again")
    return Record(_with_current_names(content), folder)


def _with_current_names(content: dict[str, Any]) -> dict[str, Any]:
    """The same record with the settings and protocols of 0.1 under their current names."""
    names = {"settings": RENAMED, "changes": RENAMED, "scores": RENAMED_PROTOCOLS}
    renamed = {
        part: {new.get(name, name): value for name, value in content[part].items()}
        for part, new in names.items()
        if isinstance(content.get(part), dict)
    }
    return {**content, **renamed}


def read_all(root: Path) -> list[Record]:
    """Every finished run below a folder, in a fixed order."""
    found = (read_record(path.parent) for path in sorted(root.glob(f"*/*/*/*/{RECORD}")))
    return [record for record in found if record is not None]


def identity(job: Job) -> dict[str, Any]:
    """The fields of a job for its record, in plain JSON types."""
    return dict(json.loads(json.dumps(asdict(job))))


def open_checkpoint(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Whether the folder holds a training to resume. A training with other data or settings is deleted."""
    file, wanted = folder / IDENTITY, json_text(identity).encode()
    if file.exists() and file.read_bytes() == wanted:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_whole(file, wanted)
    return False


def missing(jobs: Iterable[Job], root: Path, renew: bool = False) -> list[Job]:
    """The jobs that have no record yet. With `renew`, also those whose record was made by other code."""
    return [job for job in jobs if (done := read_record(job.folder(root))) is None or (renew and is_stale(done))]


def is_stale(record: Record) -> bool:
    """Whether the code that the result depends on has changed since the run."""
    from subtaxa.bench.code_digest import code_of  # This imports torch, which tables do not need.

    return record.code != code_of(record.method, bool(record.settings["pretrain_epochs"]))["files"]


def choose_variant(records: list[Record], variant: str | None) -> list[Record]:
    """For each data set, the runs of one variant and those that change one more setting of it.

    Without a given variant, each data set uses the one with the most runs.
    """
    names = {record_variant(record) for record in records}
    if variant is not None and variant not in names:
        raise SubtaxaError(f"no run has the variant {variant!r}: use one of {', '.join(sorted(names))}")
    kept = []
    for dataset in dict.fromkeys(record.dataset for record in records):
        runs = [record for record in records if record.dataset == dataset]
        count = Counter(record_variant(run) for run in runs)
        name = variant or max(sorted(count), key=lambda name: (count[name], -len(name)))
        main = next((run for run in runs if record_variant(run) == name), None)
        kept += [run for run in runs if main is not None and _changes_at_most_one_more(run, main)]
    return kept


def _changes_at_most_one_more(run: Record, main: Record) -> bool:
    same = (run.preset, run.budget, run.limit) == (main.preset, main.budget, main.limit)
    return same and main.changes.items() <= run.changes.items() and len(run.changes) <= len(main.changes) + 1


def record_variant(record: Record) -> str:
    return record.folder.parent.name
