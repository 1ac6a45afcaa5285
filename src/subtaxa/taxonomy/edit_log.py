"""The log of edits: append-only lines of JSON that a reader can follow, replay and take back.

{"edit": 1, "at": "2026-11-16T12:00:00+00:00", "do": "merge", "categories": [3, 7], "says": "merge 'refund' into …"}

The run's own files stay as training wrote them; what counts is those with the log replayed. `undo` is a line too: it
takes back the last edit that still stands.
"""

from __future__ import annotations

import copy
import datetime
import difflib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subtaxa.clustering.clusters import EVEN_POWER, Forest, clearest
from subtaxa.clustering.merging import POWERS
from subtaxa.errors import InputError
from subtaxa.runtime.json_files import difference
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

if TYPE_CHECKING:
    from subtaxa.runtime.arrays import Floats, Ints

Edit = dict[str, Any]

PARTS = 8  # at most, when the number of parts is left to us
FEWEST, CRUMB = 3, 20  # a part of fewer texts than that, or of less than one in so many, is hardly one
SHAPES: dict[str, dict[str, Any]] = {  # what a line of each kind holds besides its number and its words
    "merge": {"categories": [int]},
    "split": {"category": int, "parts": [{"id": int, "rows": [int]}]},
    "rename": {"category": int, "name": str},
    "name": {"category": int, "name": str, "by": str},
    "move": {"rows": [int], "to": int},
    "undo": {},
}


def standing(log: Iterable[Edit]) -> list[Edit]:
    """The edits that have not been taken back."""
    left: list[Edit] = []
    for edit in log:
        if edit["do"] != "undo":
            left.append(edit)
        elif left:
            left.pop()
        else:
            raise InputError("there is no edit to undo")
    return left


def replayed(base: WorkingTaxonomy, log: Iterable[Edit]) -> WorkingTaxonomy:
    """The filing after all edits that stand; the base stays as it is."""
    log = list(log)
    filing = copy.copy(base)
    filing.category = base.category.copy()
    filing.categories, filing.centroids = dict(base.categories), dict(base.centroids)
    for edit in standing(log):
        carry_out(filing, edit)
    taken_back = [part["id"] for edit in log if edit["do"] == "split" for part in edit["parts"]]
    filing.next_id = max([filing.next_id, *(1 + i for i in taken_back)])
    return filing


def carry_out(filing: WorkingTaxonomy, edit: Edit) -> None:
    """Do to the filing what a line of the log says."""
    if edit["do"] == "merge":
        filing.merge(edit["categories"])
    elif edit["do"] == "split":
        filing.split(edit["category"], {part["id"]: part["rows"] for part in edit["parts"]})
    elif edit["do"] == "rename":
        filing.rename(edit["category"], edit["name"])
    elif edit["do"] == "name":
        filing.rename(edit["category"], edit["name"], edit["by"])
    elif edit["do"] == "move":
        filing.move(edit["rows"], edit["to"])


def make(kind: str, filing: WorkingTaxonomy, log: Sequence[Edit], **what: Any) -> Edit:
    """The edit that a person asks for; categories may be given by id or name."""
    taxonomy = filing.taxonomy()

    def known(given: int | str) -> int:
        return find_category(taxonomy, given) if isinstance(given, str) else filing.check(given).id

    if kind == "undo":
        return undo(log)
    if kind == "merge":
        return merge(filing, [known(given) for given in what["categories"]])
    if kind == "move":
        return move(filing, what["rows"], known(what["to"]))
    if kind == "rename":
        return rename(filing, known(what["category"]), what["name"])
    return split(filing, known(what["category"]), what["into"])


def merge(filing: WorkingTaxonomy, categories: Sequence[int]) -> Edit:
    """The edit that makes several categories one."""
    names = [repr(filing.check(i).name) for i in dict.fromkeys(categories)]
    says = f"merge {', '.join(names[1:])} into {names[0]}"
    return {"do": "merge", "categories": list(dict.fromkeys(categories)), "says": says}


def split(filing: WorkingTaxonomy, category: int, into: int | None = None) -> Edit:
    """The edit that makes one category several, by the features of its texts; the largest part keeps the id."""
    old, members = filing.check(category), filing.members(category)
    features = filing.features[members]
    most = len(np.unique(features, axis=0))
    if most < 2:
        raise InputError(f"{old.name!r} has {_texts(len(members))} that are all alike: it cannot be split")
    if into is not None and not 2 <= into <= most:
        raise InputError(f"cannot split {old.name!r} into {into}: it has {most} different texts, use 2 to {most}")
    numbers = range(2, max(3, min(PARTS, most - 1, len(features) // 2) + 1)) if into is None else [into]
    part = _parts(features, numbers)  # (n,)
    order = np.argsort(-np.bincount(part), kind="stable")
    ids = [category, *range(filing.next_id, filing.next_id + len(order) - 1)]
    parts: list[dict[str, Any]] = [
        {"id": int(i), "rows": sorted(filing.rows[members[part == number]].tolist())}
        for i, number in zip(ids, order, strict=True)
    ]
    says = f"split {old.name!r} into {len(parts)}: {', '.join(str(len(p['rows'])) for p in parts)} texts"
    return {"do": "split", "category": category, "parts": parts, "says": says}


def rename(filing: WorkingTaxonomy, category: int, name: str) -> Edit:
    """The edit that gives a category a name."""
    return {
        "do": "rename",
        "category": category,
        "name": name,
        "says": f"rename {filing.check(category).name!r} to {name!r}",
    }


def name(filing: WorkingTaxonomy, category: int, name: str, by: str) -> Edit:
    """The edit that gives a category the name that a language model found."""
    says = f"{filing.check(category).name!r} is named {name!r} by {by}"
    return {"do": "name", "category": category, "name": name, "by": by, "says": says}


def move(filing: WorkingTaxonomy, rows: Sequence[int], to: int) -> Edit:
    """The edit that files texts under another category."""
    rows = sorted({int(row) for row in rows})
    return {"do": "move", "rows": rows, "to": to, "says": f"move {_texts(len(rows))} to {filing.check(to).name!r}"}


def undo(log: Sequence[Edit]) -> Edit:
    """The line that takes back the last edit."""
    left = standing(log)
    if not left:
        raise InputError("there is no edit to undo")
    return {"do": "undo", "of": left[-1]["edit"], "says": f"undo: {left[-1]['says']}"}


def numbered(edit: Edit, log: Sequence[Edit]) -> Edit:
    """The edit as the next line of the log."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"edit": 1 + len(log), "at": now, **edit}


def write_log(log: Iterable[Edit]) -> str:
    return "".join(json.dumps(edit, ensure_ascii=True) + "\n" for edit in log)


def read_log(text: str, name: str) -> list[Edit]:
    """The lines of a log, each checked as far as that needs no run."""
    log = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            edit = json.loads(line)
            wrong = difference(edit, {"edit": int, "says": str} | SHAPES[edit["do"]])
            if wrong or edit["edit"] != number:
                raise ValueError(wrong or "it is not the next edit")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"line {number} of {name!r} is damaged ({error}): take the line out or mend it") from error
        log.append(edit)
    standing(log)
    return log


def find_category(taxonomy: Taxonomy, given: str) -> int:
    """The id of a category that a person named by id, by name, or by label/name."""
    if given.isascii() and given.isdigit() and any(c.id == int(given) for c in taxonomy):
        return int(given)
    same = [c for c in taxonomy if given.casefold() in (c.name.casefold(), f"{c.parent}/{c.name}".casefold())]
    if len(same) == 1:
        return same[0].id
    if same:
        which = " or ".join(f"{c.parent}/{c.name}" for c in same)
        raise InputError(f"{given!r} is the name of {len(same)} categories: say {which}")
    close = difflib.get_close_matches(given, [c.name for c in taxonomy], n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see `subtaxa info` for those there are"
    raise InputError(f"there is no category {given!r}: {hint}")


def _parts(features: Floats, numbers: Iterable[int]) -> Ints:
    """The clearest division of some texts (n,) into one of these numbers of parts. Those with a part of a few stray
    texts come last, since taking these away makes any rest look clear."""
    forest = Forest(features, np.zeros(len(features), dtype=np.int64))
    rows = forest.sample()

    def tried(number: int, power: float) -> tuple[float, float, float, Ints]:
        clusters, clear = clearest(forest, [number], rows, [power])
        own = np.unique(clusters.nearest(features), return_inverse=True)[1]  # (n,)
        sizes = np.bincount(own)
        enough = max(FEWEST, len(features) / max(CRUMB, 4 * number))
        return len(sizes) / number, min(1.0, sizes.min() / enough), float(clear.mean()), own

    found = [tried(number, power) for number in numbers for power in (*POWERS, EVEN_POWER)]
    return max(found, key=lambda division: division[:3])[3]


def _texts(number: int) -> str:
    return "1 text" if number == 1 else f"{number:,} texts"
