"""The log of edits: one JSON object per line, appended, which can be read, replayed and undone.

{"edit": 1, "at": "2026-11-16T12:00:00+00:00", "do": "merge", "categories": [3, 7], "says": "merge 'refund' into …"}

The files that training wrote do not change. The current state of a run is these files with the log replayed. An `undo`
is a line of its own: it undoes the last edit that has not been undone yet.
"""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

from subtaxa.errors import InputError
from subtaxa.runtime.json_files import difference, parse
from subtaxa.taxonomy.described_tree import Group
from subtaxa.taxonomy.recutting import recut
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

Edit = dict[str, Any]

# The names that categories got when the edit was made. Replaying it needs no encoder.
NAMES = [{"id": int, "name": str}]
# Categories as nodes of the category tree.
GROUPS = [{"id": int, "nodes": [int]}]
# The kinds of edits that cut the tree elsewhere.
CUTS = ("recut", "answer")
# The fields of each kind of edit, besides its number and its description.
FIELDS: dict[str, dict[str, Any]] = {
    "merge": {"categories": [int], "names?": NAMES},
    "split": {"category": int, "parts": [{"id": int, "rows": [int]}], "names?": NAMES},
    "rename": {"category": int, "name": str},
    "name": {"category": int, "name": str, "by": str},
    "move": {"rows": [int], "to": int},
    "recut": {"groups": GROUPS},
    "answer": {"groups": GROUPS, "left": int, "right": int, "same": bool},
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


def undone_edits(log: Iterable[Edit]) -> list[Edit]:
    """The edits that can be redone, the next one last. A new edit, unless it is such an edit, ends the series."""
    active: list[Edit] = []
    undone: list[Edit] = []
    for edit in log:
        if edit["do"] == "undo":
            undone.append(active.pop())
            continue
        active.append(edit)
        undone = undone[:-1] if undone and _content(edit) == _content(undone[-1]) else []
    return undone


def _content(edit: Edit) -> Edit:
    """An edit without its place in the log."""
    return {name: value for name, value in edit.items() if name not in ("edit", "at")}


def replay(base: WorkingTaxonomy, log: Iterable[Edit]) -> WorkingTaxonomy:
    """A copy of the base with all active edits applied."""
    log = list(log)
    working = base.copy()
    with working.deferred():
        for is_cut, edits in itertools.groupby(active_edits(log), lambda edit: edit["do"] in CUTS):
            if is_cut:
                _apply_cuts(working, edits)
            else:
                for edit in edits:
                    apply(working, edit)
    for edit in log:
        for group in edit.get("groups", ()):
            working.ids[tuple(group["nodes"])] = group["id"]
    used = [part["id"] for edit in log for part in (*edit.get("parts", ()), *edit.get("groups", ()))]
    working.next_id = max([working.next_id, *(1 + i for i in used)])
    return working


def _apply_cuts(working: WorkingTaxonomy, cuts: Iterable[Edit]) -> None:
    """Apply successive recuts and answers at once: for each label, only the last one counts."""
    by_label: dict[int, dict[int, Group]] = {}
    described = working.described_tree()
    working.settle()
    for edit in cuts:
        found: dict[int, dict[int, Group]] = {}
        for group in edit["groups"]:
            if group["id"] < 0:
                raise InputError(f"a recut has the id {group['id']}: ids are 0 or more")
            found.setdefault(described.label_of(group["nodes"]), {})[group["id"]] = tuple(group["nodes"])
        if edit["do"] == "answer":
            described.check_pair(edit["left"], edit["right"])
        by_label |= found
    groups = {i: group for own in by_label.values() for i, group in own.items()}
    if groups:
        recut(working, groups)


def apply(working: WorkingTaxonomy, edit: Edit) -> None:
    """Apply one line of the log."""
    names = {named["id"]: named["name"] for named in edit.get("names", ())}
    if edit["do"] == "merge":
        working.merge(edit["categories"], names)
    elif edit["do"] == "split":
        working.split(edit["category"], {part["id"]: part["rows"] for part in edit["parts"]}, names)
    elif edit["do"] == "rename":
        working.rename(edit["category"], edit["name"])
    elif edit["do"] == "name":
        working.rename(edit["category"], edit["name"], edit["by"])
    elif edit["do"] == "move":
        working.move(edit["rows"], edit["to"])
    elif edit["do"] in CUTS:
        _apply_cuts(working, [edit])


def apply_new(working: WorkingTaxonomy, edit: Edit, log: Sequence[Edit]) -> Edit:
    """Apply a new edit. Returns it as the next entry of the log, with the names that it led to."""
    apply(working, edit)
    ids = {"merge": edit.get("categories", ())[:1], "split": [part["id"] for part in edit.get("parts", ())]}
    found = [working.categories[i] for i in ids.get(edit["do"], ())]
    names = [{"id": c.id, "name": c.name} for c in found if not c.named]
    return log_entry({**edit, "names": names} if names else edit, log)


def log_entry(edit: Edit, log: Sequence[Edit]) -> Edit:
    """The edit as the next entry of the log, with its number and the time."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"edit": 1 + len(log), "at": now, **edit}


def write_log(log: Iterable[Edit]) -> str:
    """The log as text, one edit per line."""
    return "".join(json.dumps(edit, ensure_ascii=True) + "\n" for edit in log)


def read_log(text: str, name: str) -> list[Edit]:
    """The edits in the text of a log. Only their form is checked, not whether they fit the run."""
    log = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            edit = parse(line)
            wrong = difference(edit, {"edit": int, "says": str, "at?": str} | FIELDS[edit["do"]])
            if wrong or edit["edit"] != number:
                raise ValueError(wrong or "its number is not the next one")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"line {number} of {name!r} is damaged ({error}): correct or delete the line") from error
        log.append(edit)
    active_edits(log)
    return log
