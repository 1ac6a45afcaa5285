"""The log of edits: one JSON object per line, appended, which can be read, replayed and undone.

{"edit": 1, "at": "2026-11-16T12:00:00+00:00", "do": "merge", "categories": [3, 7], "says": "merge 'refund' into …"}

The files that training wrote do not change; the state of a run is what they say with the log replayed. `undo` is a
line of its own: it undoes the last edit that has not been undone yet.
"""

from __future__ import annotations

import copy
import datetime
import difflib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subtaxa.clustering.forest import Forest
from subtaxa.clustering.merging import POWERS
from subtaxa.clustering.rules import MergedRule, find_categories
from subtaxa.clustering.rules.balanced import START_POWER
from subtaxa.clustering.silhouettes import silhouettes
from subtaxa.errors import InputError
from subtaxa.runtime.json_files import difference
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

if TYPE_CHECKING:
    from subtaxa.runtime.arrays import Floats, Ints

Edit = dict[str, Any]

# If `into` is not given, a split tries 2 to this many parts.
PARTS = 8
# A part with fewer texts than this counts as a few stray texts.
FEWEST = 3
# So does a part with less than one in this many of the texts.
CRUMB = 20
# What a line of each kind holds besides its number and its description.
SHAPES: dict[str, dict[str, Any]] = {
    "merge": {"categories": [int]},
    "split": {"category": int, "parts": [{"id": int, "rows": [int]}]},
    "rename": {"category": int, "name": str},
    "name": {"category": int, "name": str, "by": str},
    "move": {"rows": [int], "to": int},
    "undo": {},
}


def active_edits(log: Iterable[Edit]) -> list[Edit]:
    """The edits that have not been undone."""
    active: list[Edit] = []
    for edit in log:
        if edit["do"] != "undo":
            active.append(edit)
        elif active:
            active.pop()
        else:
            raise InputError("there is no edit to undo")
    return active


def replay(base: WorkingTaxonomy, log: Iterable[Edit]) -> WorkingTaxonomy:
    """A copy of the base with all active edits applied."""
    log = list(log)
    working = copy.copy(base)
    working.category = base.category.copy()
    working.categories, working.centroids = dict(base.categories), dict(base.centroids)
    for edit in active_edits(log):
        apply(working, edit)
    used = [part["id"] for edit in log if edit["do"] == "split" for part in edit["parts"]]
    working.next_id = max([working.next_id, *(1 + i for i in used)])
    return working


def apply(working: WorkingTaxonomy, edit: Edit) -> None:
    """Apply one line of the log."""
    if edit["do"] == "merge":
        working.merge(edit["categories"])
    elif edit["do"] == "split":
        working.split(edit["category"], {part["id"]: part["rows"] for part in edit["parts"]})
    elif edit["do"] == "rename":
        working.rename(edit["category"], edit["name"])
    elif edit["do"] == "name":
        working.rename(edit["category"], edit["name"], edit["by"])
    elif edit["do"] == "move":
        working.move(edit["rows"], edit["to"])


def create(kind: str, working: WorkingTaxonomy, log: Sequence[Edit], **what: Any) -> Edit:
    """The edit that a person asks for. Categories are given by id or by name."""
    taxonomy = working.taxonomy()

    def known(given: int | str) -> int:
        return find_category(taxonomy, given) if isinstance(given, str) else working.check(given).id

    if kind == "undo":
        return undo(log)
    if kind == "merge":
        return merge(working, [known(given) for given in what["categories"]])
    if kind == "move":
        return move(working, what["rows"], known(what["to"]))
    if kind == "rename":
        return rename(working, known(what["category"]), what["name"])
    return split(working, known(what["category"]), what["into"])


def merge(working: WorkingTaxonomy, categories: Sequence[int]) -> Edit:
    """The edit that merges categories."""
    names = [repr(working.check(i).name) for i in dict.fromkeys(categories)]
    says = f"merge {', '.join(names[1:])} into {names[0]}"
    return {"do": "merge", "categories": list(dict.fromkeys(categories)), "says": says}


def split(working: WorkingTaxonomy, category: int, into: int | None = None) -> Edit:
    """The edit that splits a category by the features of its texts. The largest part keeps the id."""
    old, members = working.check(category), working.members(category)
    features = working.features[members]
    most = len(np.unique(features, axis=0))
    if most < 2:
        raise InputError(f"{old.name!r} cannot be split: all of its texts are the same ({_texts(len(members))})")
    if into is not None and not 2 <= into <= most:
        raise InputError(f"{old.name!r} cannot be split into {into}: it has {most} different texts, so use 2 to {most}")
    numbers = range(2, max(3, min(PARTS, most - 1, len(features) // 2) + 1)) if into is None else [into]
    part = _parts(features, numbers)  # (n,)
    order = np.argsort(-np.bincount(part), kind="stable")
    ids = [category, *range(working.next_id, working.next_id + len(order) - 1)]
    parts: list[dict[str, Any]] = [
        {"id": int(i), "rows": sorted(working.rows[members[part == number]].tolist())}
        for i, number in zip(ids, order, strict=True)
    ]
    says = f"split {old.name!r} into {len(parts)}: {', '.join(str(len(p['rows'])) for p in parts)} texts"
    return {"do": "split", "category": category, "parts": parts, "says": says}


def rename(working: WorkingTaxonomy, category: int, name: str) -> Edit:
    """The edit that renames a category."""
    return {
        "do": "rename",
        "category": category,
        "name": name,
        "says": f"rename {working.check(category).name!r} to {name!r}",
    }


def name(working: WorkingTaxonomy, category: int, name: str, by: str) -> Edit:
    """The edit that gives a category a name from a language model."""
    says = f"{working.check(category).name!r} is named {name!r} by {by}"
    return {"do": "name", "category": category, "name": name, "by": by, "says": says}


def move(working: WorkingTaxonomy, rows: Sequence[int], to: int) -> Edit:
    """The edit that moves texts to another category."""
    rows = sorted({int(row) for row in rows})
    return {"do": "move", "rows": rows, "to": to, "says": f"move {_texts(len(rows))} to {working.check(to).name!r}"}


def undo(log: Sequence[Edit]) -> Edit:
    """The line that undoes the last active edit."""
    active = active_edits(log)
    if not active:
        raise InputError("there is no edit to undo")
    return {"do": "undo", "of": active[-1]["edit"], "says": f"undo: {active[-1]['says']}"}


def log_entry(edit: Edit, log: Sequence[Edit]) -> Edit:
    """The edit as the next entry of the log, with its number and the time."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"edit": 1 + len(log), "at": now, **edit}


def write_log(log: Iterable[Edit]) -> str:
    """The log as text, one edit per line."""
    return "".join(json.dumps(edit, ensure_ascii=True) + "\n" for edit in log)


def read_log(text: str, name: str) -> list[Edit]:
    """The edits in the text of a log. Their form is checked; whether they match a run is not."""
    log = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            edit = json.loads(line)
            wrong = difference(edit, {"edit": int, "says": str} | SHAPES[edit["do"]])
            if wrong or edit["edit"] != number:
                raise ValueError(wrong or "its number is not the next one")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"line {number} of {name!r} is damaged ({error}): correct or delete the line") from error
        log.append(edit)
    active_edits(log)
    return log


def find_category(taxonomy: Taxonomy, given: str) -> int:
    """The id of the category that a person gave by id, by name or by label/name."""
    if given.isascii() and given.isdigit() and any(c.id == int(given) for c in taxonomy):
        return int(given)
    same = [c for c in taxonomy if given.casefold() in (c.name.casefold(), f"{c.parent}/{c.name}".casefold())]
    if len(same) == 1:
        return same[0].id
    if same:
        which = " or ".join(f"{c.parent}/{c.name}" for c in same)
        raise InputError(f"{given!r} is the name of {len(same)} categories: use {which}")
    close = difflib.get_close_matches(given, [c.name for c in taxonomy], n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`subtaxa info` lists the categories"
    raise InputError(f"there is no category {given!r}: {hint}")


def _parts(features: Floats, numbers: Iterable[int]) -> Ints:
    """The clearest division of some texts (n,) into one of these numbers of parts. Those with a part of a few stray
    texts come last, since taking these away makes any rest look clear."""
    forest = Forest(features, np.zeros(len(features), dtype=np.int64))
    rows = forest.sample()

    def tried(number: int, power: float) -> tuple[float, float, float, Ints]:
        nearest = find_categories(forest, [number], rule=MergedRule([power])).nearest(features)
        scores = silhouettes(features, nearest, number, rows)
        own = np.unique(nearest, return_inverse=True)[1]  # (n,)
        sizes = np.bincount(own)
        enough = max(FEWEST, len(features) / max(CRUMB, 4 * number))
        return len(sizes) / number, min(1.0, sizes.min() / enough), float(scores.mean()), own

    found = [tried(number, power) for number in numbers for power in (*POWERS, START_POWER)]
    return max(found, key=lambda division: division[:3])[3]


def _texts(number: int) -> str:
    return "1 text" if number == 1 else f"{number:,} texts"
