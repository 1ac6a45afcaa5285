"""Benchmark data sets: texts with coarse and fine labels, from the authors' files or from a file of your own.

Methods get the coarse labels only; the fine labels stay in `bench`. `DATASETS` lists the names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.data.readers import open_file
from subtaxa.data.texts import read_texts
from subtaxa.errors import InputError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Texts with both labels. They are sorted, so that the order of the file does not matter."""

    texts: tuple[str, ...]
    coarse: tuple[str, ...]
    fine: tuple[str, ...]
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def coarse_codes(self) -> Ints:
        """The coarse label of each text as a number (N,), in alphabetical order."""
        return np.unique(self.coarse, return_inverse=True)[1].astype(np.int64)

    @classmethod
    def of(cls, texts: Any, coarse: Any, fine: Any, skipped: int = 0) -> Part:
        rows = sorted(zip(coarse, texts, fine, strict=True))
        if not rows:
            return cls((), (), (), skipped)
        c, t, f = zip(*rows, strict=True)
        return cls(t, c, f, skipped)

    def select(self, chosen: Ints) -> Part:
        """The part with the chosen rows only."""
        texts, coarse, fine = ([column[i] for i in chosen] for column in (self.texts, self.coarse, self.fine))
        return Part.of(texts, coarse, fine, self.skipped)


@dataclass(frozen=True)
class Dataset:
    """A benchmark: training and test texts, and the settings that the paper chose for them.

    `notes` say which rows were skipped and which counts differ from the published ones. `settings` apply to every
    preset, `paper_settings` to the preset "paper" only.
    """

    name: str
    train: Part
    test: Part
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    paper_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_coarse(self) -> int:
        return len(set(self.train.coarse))

    @property
    def n_fine(self) -> int:
        return len(set(self.train.fine) | set(self.test.fine))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all rows. Two files of the same name can still be two data sets."""
        rows = [list(zip(part.coarse, part.texts, part.fine, strict=True)) for part in (self.train, self.test)]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def limited(self, limit: int | None) -> Dataset:
        """The same data set with a random but fixed sample of the training texts."""
        if limit is None or limit >= len(self.train):
            return self
        chosen = np.random.default_rng(0).permutation(len(self.train))[:limit]
        return Dataset(
            self.name, self.train.select(np.sort(chosen)), self.test, self.notes, self.settings, self.paper_settings
        )


@dataclass(frozen=True)
class _Source:
    """A benchmark's files, how to derive a coarse label from a fine one, and the published counts.

    `counts` are coarse labels, fine labels, training rows and test rows.
    """

    train: str
    test: str
    coarse: Callable[[Path], Callable[[str], str]]
    counts: tuple[int, int, int, int]
    settings: Mapping[str, Any]
    paper_settings: Mapping[str, Any]
    keep: Callable[[Part, Path], Part] = lambda part, folder: part


DOMAINS = "clinc/domains.json"


def _domains(folder: Path) -> dict[str, list[str]]:
    path = folder / DOMAINS
    try:
        return {domain: list(intents) for domain, intents in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        what = f"cannot read {str(path)!r}, which lists the intents of each domain"
        raise InputError(f"{what}: give the folder of the authors' files with --data") from error


def _domain(folder: Path) -> Callable[[str], str]:
    owner = {intent: domain for domain, intents in _domains(folder).items() for intent in intents}

    def of(fine: str) -> str:
        if fine not in owner:
            raise InputError(f"the intent {fine!r} is in no domain of {str(folder / DOMAINS)!r}: add it to a domain")
        return owner[fine]

    return of


def _before(separator: str) -> Callable[[Path], Callable[[str], str]]:
    """The coarse label is the part of the fine label before a separator."""
    return lambda folder: lambda fine: fine.split(separator)[0]


def _long_tail(part: Part, folder: Path) -> Part:
    """CLINC-LT: the first max(3, round(120 / r^1.2)) texts of each intent, where r is its rank in its domain."""
    limits = {
        intent: max(3, round(120 / rank**1.2))
        for intents in _domains(folder).values()
        for rank, intent in enumerate(intents, 1)
    }
    left: dict[str, int] = dict(limits)
    chosen: list[int] = []
    for i, intent in enumerate(part.fine):
        if left[intent] > 0:
            left[intent] -= 1
            chosen.append(i)
    texts, coarse, fine = (tuple(column[i] for i in chosen) for column in (part.texts, part.coarse, part.fine))
    return Part(texts, coarse, fine, part.skipped)


def _wos(train: str, rows: int, neighbours: int) -> _Source:
    """The paper reads 200 tokens of an abstract. We read 64, which is affordable on two cores."""
    settings = {"neighbours": neighbours, "max_tokens": 64}
    return _Source(train, "wos/test.tsv", _before("."), (7, 34, rows, 2_420), settings, {"max_tokens": 200})


_CLINC = {"neighbours": 120}, {"max_tokens": 30}
DATASETS: dict[str, _Source] = {
    "clinc": _Source("clinc/train.tsv", "clinc/test.tsv", _domain, (10, 150, 18_000, 2_250), *_CLINC),
    "clinc-lt": _Source(
        "clinc/train.tsv", "clinc/test.tsv", _domain, (10, 150, 3_260, 2_250), {"neighbours": 30}, _CLINC[1], _long_tail
    ),
    "hwu64": _Source(
        "hwu64/train.tsv",
        "hwu64/test.tsv",
        _before("_"),
        (18, 64, 8_954, 1_031),
        {"neighbours": 120},
        {"max_tokens": 10},
    ),
    "wos": _wos("wos/train.tsv", 8_362, 250),
    "wos-part": _wos("wos/train_part.tsv", 2_252, 60),
}


def load(name: str, folder: Path) -> Dataset:
    """A benchmark by its name, from a folder in the authors' layout."""
    source = DATASETS[name]
    coarse_of = source.coarse(folder)
    parts, notes = [], []
    for which, path in (("training", folder / source.train), ("test", folder / source.test)):
        if not path.exists():
            raise InputError(f"{name} needs {str(path)!r}: give the folder of the authors' files with --data")
        rows = read_texts(path, *_header(path))
        part = Part(rows.texts, tuple(coarse_of(fine) for fine in rows.labels), rows.labels, len(rows.skipped))
        notes += [f"{name} {which}: {line}" for line in rows.describe()[1:]]
        parts.append(source.keep(part, folder) if which == "training" else part)
    train, test = (Part.of(part.texts, part.coarse, part.fine, part.skipped) for part in parts)
    found = len(set(train.coarse)), len(set(train.fine) | set(test.fine)), len(train), len(test)
    notes += [
        f"{name}: {a:,} {what}, published {b:,}"
        for a, b, what in zip(
            found, source.counts, ("coarse labels", "fine labels", "training texts", "test texts"), strict=True
        )
        if a != b
    ]
    return Dataset(name, train, test, tuple(notes), source.settings, source.paper_settings)


def _header(path: Path) -> tuple[str, str]:
    columns = open_file(path).columns
    if len(columns) != 2:
        found = ", ".join(map(repr, columns[:5]))
        raise InputError(f"{str(path)!r} starts with {found}: it must have a header with two columns, text and label")
    return columns[0], columns[1]


def from_file(path: Path, text: str | None, coarse: str, fine: str, share: float = 0.2) -> Dataset:
    """A data set from any file with a text, a coarse and a fine column.

    A share of each fine category is held out as the test set.
    """
    by_coarse = read_texts(path, text, coarse)
    by_fine = read_texts(path, by_coarse.text_column, fine)
    fine_of = dict(zip(by_fine.rows, by_fine.labels, strict=True))
    both = [i for i, row in enumerate(by_coarse.rows) if row in fine_of]
    whole = Part.of(
        [by_coarse.texts[i] for i in both],
        [by_coarse.labels[i] for i in both],
        [fine_of[by_coarse.rows[i]] for i in both],
    )
    skipped = {skip.row for rows in (by_coarse, by_fine) for skip in rows.skipped}
    test = _held_out(whole, share)
    kept, held = replace(whole.select(np.flatnonzero(~test)), skipped=len(skipped)), whole.select(np.flatnonzero(test))
    if len(held) < 2:
        raise InputError(f"{str(path)!r} has {len(whole)} usable rows, too few to hold out a test set: add rows")
    notes = tuple(
        f"{path.name} {rows.label_column}: {line}" for rows in (by_coarse, by_fine) for line in rows.describe()[1:]
    )
    return Dataset(path.name, kept, held, notes, {"neighbours": "auto"})


def _held_out(whole: Part, share: float) -> NDArray[np.bool_]:
    """A random share of each fine category, with at least one text of every category that has two."""
    rng, fine = np.random.default_rng(0), np.array(whole.fine)
    chosen = np.zeros(len(whole), dtype=bool)
    for category in np.unique(fine):
        members = rng.permutation(np.flatnonzero(fine == category))
        chosen[members[: max(int(len(members) > 1), round(share * len(members)))]] = True
    return chosen
