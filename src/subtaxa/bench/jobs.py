"""A benchmark run: its identity, its folder, its record. One run, one folder; a folder with a record is finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from subtaxa.atomic import write_whole
from subtaxa.errors import SubtaxaError
from subtaxa.storage import json_text, read_json

RECORD, MAP, CHECKPOINT, LOCK = "record.json", "map.csv", "checkpoint", "lock"
FORMAT = 1


@dataclass(frozen=True)
class Job:
    """What is to be run. `changes` are settings given in place of the preset's."""

    dataset: str
    method: str
    preset: str = "default"
    seed: int = 0
    limit: int | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """The preset and what was changed, as a folder name: default_epochs=4."""
        changed = dict(sorted(self.changes.items())) | ({"limit": self.limit} if self.limit else {})
        parts = [self.preset, *(f"{name.replace('_', '-')}={value}" for name, value in changed.items())]
        plain = "_".join(parts)
        if len(plain) <= 100 and all(c.isalnum() or c in "-_=.+" for c in plain):
            return plain
        return f"{self.preset}_{hashlib.sha256(plain.encode()).hexdigest()[:12]}"

    def folder(self, root: Path) -> Path:
        return root / self.dataset / self.method / self.variant / f"seed-{self.seed}"

    def __str__(self) -> str:
        return f"{self.dataset} {self.method} {self.variant} seed {self.seed}"


@dataclass(frozen=True)
class Record:
    """A finished run as its folder tells it."""

    content: Mapping[str, Any]
    folder: Path

    def __getattr__(self, name: str) -> Any:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None

    def score(self, protocol: str, measure: str) -> float:
        return float(self.content["scores"][protocol][measure])


def write_record(folder: Path, content: Mapping[str, Any]) -> Record:
    write_whole(folder / RECORD, json_text({"format": FORMAT, **content}).encode())
    return Record(content, folder)


def read_record(folder: Path) -> Record | None:
    """The record of a finished run, or None."""
    path = folder / RECORD
    if not path.exists():
        return None
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT or "scores" not in content:
        raise SubtaxaError(f"{str(path)!r} is not a run record of this version: delete it and run it again")
    return Record(content, folder)


def read_all(root: Path) -> list[Record]:
    """Every finished run below a folder, in a fixed order."""
    found = (read_record(path.parent) for path in sorted(root.glob(f"*/*/*/*/{RECORD}")))
    return [record for record in found if record is not None]


def identity(job: Job) -> dict[str, Any]:
    """The fields of a job for its record, in plain JSON types."""
    return dict(json.loads(json.dumps(asdict(job))))


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Whether this process alone has the run; the lock dies with its owner."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()  # the file stays: removing it would let two processes lock two files of that name


def missing(jobs: Iterable[Job], root: Path) -> list[Job]:
    """The jobs that have no record yet."""
    return [job for job in jobs if read_record(job.folder(root)) is None]


def chosen(records: list[Record], variant: str | None) -> list[Record]:
    """The runs of one variant, by default the one with the most runs, and those that change one more setting of it."""
    names = [record_variant(record) for record in records]
    best = variant or max(sorted(set(names)), key=lambda name: (names.count(name), -len(name)))
    kept = [r for r, name in zip(records, names, strict=True) if name == best or name.startswith(f"{best}_")]
    if not kept:
        raise SubtaxaError(f"there is no run {best!r}: there are {', '.join(sorted(set(names)))}")
    return kept


def record_variant(record: Record) -> str:
    return record.folder.parent.name
