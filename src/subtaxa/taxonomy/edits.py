"""Make the edits that a person asks for: merge, split, rename, move, recut, undo. Applying them is a separate step."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from subtaxa.clustering.requested_number import check, index_of_label
from subtaxa.data.values import clean
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import unique_rows
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.described_tree import Group
from subtaxa.taxonomy.edit_log import Edit, active_edits, undone_edits
from subtaxa.taxonomy.splitting import divide
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

# A step finer or coarser changes the number of categories by this factor.
STEP = 1.25

# How many characters of a name that does not exist are quoted.
MAX_QUOTED = 100


def create(kind: str, working: WorkingTaxonomy, log: Sequence[Edit], **what: Any) -> Edit:
    """An edit of the given kind. Categories are given by id or by name."""
    taxonomy = working.taxonomy()

    def known(given: int | str) -> int:
        return find_category(taxonomy, given) if isinstance(given, str) else working.check(given).id

    if kind == "undo":
        return undo(log)
    if kind == "merge":
        return merge(working, [known(given) for given in what["categories"]])
    if kind == "part":
        return part(working, known(what["category"]), what["rows"])
    if kind == "move":
        return move(working, what["rows"], known(what["to"]))
    if kind == "recut":
        return recut(working, what.get("categories"), what.get("finer"))
    if kind == "rename":
        return rename(working, known(what["category"]), what["name"])
    return split(working, known(what["category"]), what["into"])


def merge(working: WorkingTaxonomy, categories: Sequence[int]) -> Edit:
    """The edit that merges categories."""
    chosen = working.mergeable(categories)
    names = [repr(c.name) for c in chosen]
    says = f"merge {', '.join(names[1:])} into {names[0]}"
    return {"do": "merge", "categories": [c.id for c in chosen], "says": says}


def split(working: WorkingTaxonomy, category: int, into: int | None = None) -> Edit:
    """The edit that splits a category by the features of its texts. The largest part keeps the id."""
    old, members = working.check(category), working.members(category)
    features = working.features[members]
    most = len(unique_rows(features)[0])
    if most < 2:
        raise InputError(f"{old.name!r} cannot be split: its texts are all the same ({_texts(len(members))})")
    if into is not None and not 2 <= into <= most:
        raise InputError(f"{old.name!r} cannot be split into {into}: it has {most} different texts, so use 2 to {most}")
    part = divide(features, into)  # (n,)
    order = np.argsort(-np.bincount(part), kind="stable")
    ids = [category, *range(working.next_id, working.next_id + len(order) - 1)]
    parts: list[dict[str, Any]] = [
        {"id": int(i), "rows": sorted(working.rows[members[part == number]].tolist())}
        for i, number in zip(ids, order, strict=True)
    ]
    says = f"split {old.name!r} into {len(parts)}: {', '.join(str(len(p['rows'])) for p in parts)} texts"
    return {"do": "split", "category": category, "parts": parts, "says": says}


def part(working: WorkingTaxonomy, category: int, rows: Sequence[int]) -> Edit:
    """The edit that splits some texts of a category off as a new one."""
    old, own = working.check(category), set(working.rows[working.members(category)].tolist())
    chosen = sorted(own & {int(row) for row in rows})
    if not chosen or len(chosen) == len(own):
        raise InputError(f"a new category takes some texts of {old.name!r}, but not all: choose others")
    parts = [{"id": category, "rows": sorted(own - set(chosen))}, {"id": working.next_id, "rows": chosen}]
    says = f"move {_texts(len(chosen))} of {old.name!r} to a new category"
    return {"do": "split", "category": category, "parts": parts, "says": says}


def rename(working: WorkingTaxonomy, category: int, name: str) -> Edit:
    """The edit that renames a category."""
    if clean(name) != name:
        raise InputError(f"the name {name!r} holds a character that no file can hold: type the name again")
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


def recut(
    working: WorkingTaxonomy, categories: int | str | Mapping[str, int] | None, finer: bool | None = None
) -> Edit:
    """The edit that cuts the category tree elsewhere: at a total, at numbers for some labels, or one step finer."""
    if (categories is None) == (finer is None):
        raise InputError("recut needs either a number of categories, or finer or coarser: give one of them")
    if categories is not None:
        check(categories)
    if isinstance(categories, str):
        raise InputError(
            f"categories is {categories!r}, but a recut estimates nothing: give a number, or finer or coarser"
        )
    tree, names = working.described_tree().tree, sorted(set(working.labels))
    if isinstance(categories, Mapping):
        if not categories:
            raise InputError("recut names no label: give the number of categories of at least one label")
        fixed = {index_of_label(label, names): number for label, number in categories.items()}
        for label, number in fixed.items():
            if not 1 <= number <= tree.max_numbers[label]:
                raise InputError(
                    f"categories asks for {number} categories of {names[label]!r}: "
                    f"the tree of this run has 1 to {tree.max_numbers[label]}"
                )
        total = sum(fixed.values()) + len(names) - len(fixed)
        cut = tree.cut(total, fixed)
        cut = cut[np.isin(tree.labels[cut], list(fixed))]
        says = "recut: " + ", ".join(f"{label!r} {number}" for label, number in categories.items())
    else:
        now = len(working.categories)
        total = categories if categories is not None else _next_total(now, bool(finer))
        if not len(names) <= total <= tree.n_parts:
            raise InputError(
                f"categories is {total}: the tree of this run has {len(names)} to {tree.n_parts} categories"
            )
        cut = tree.cut(total)
        says = f"recut: {now} to {total} categories"
    return {"do": "recut", "groups": as_groups(working, [(node,) for node in cut.tolist()]), "says": says}


def as_groups(working: WorkingTaxonomy, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Groups of nodes with their ids. A group that was a category before has the id that it had."""
    found, next_id = [], working.next_id
    for group in groups:
        known = working.ids.get(group)
        found.append({"id": next_id if known is None else known, "nodes": list(group)})
        next_id += known is None
    return found


def _next_total(now: int, finer: bool) -> int:
    """The total one step finer or coarser."""
    return max(now + 1, round(now * STEP)) if finer else min(now - 1, round(now / STEP))


def undo(log: Sequence[Edit]) -> Edit:
    """The line that undoes the last active edit."""
    active = active_edits(log)
    if not active:
        raise InputError("there is no edit to undo")
    return {"do": "undo", "of": active[-1]["edit"], "says": f"undo: {active[-1]['says']}"}


def redo(log: Sequence[Edit]) -> Edit:
    """The last undone edit, to be made once more."""
    undone = undone_edits(log)
    if not undone:
        raise InputError("there is no undone edit to make again")
    return {name: value for name, value in undone[-1].items() if name not in ("edit", "at")}


def find_category(taxonomy: Taxonomy, given: str) -> int:
    """The id of the category that a person gave by id, by name or by label/name."""
    number = given.lstrip("0") or "0"  # Compared as text: Python refuses to read numbers of thousands of digits.
    for category in taxonomy:
        if given.isascii() and given.isdigit() and str(category.id) == number:
            return category.id
    same = [c for c in taxonomy if given.casefold() in (c.name.casefold(), f"{c.parent}/{c.name}".casefold())]
    if len(same) == 1:
        return same[0].id
    if same:
        which = " or ".join(f"{c.parent}/{c.name}" for c in same)
        raise InputError(f"{given!r} is the name of {len(same)} categories: use {which}")
    given = given if len(given) <= MAX_QUOTED else f"{given[:MAX_QUOTED]}…"
    close = difflib.get_close_matches(given, [c.name for c in taxonomy], n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`subtaxa info` lists the categories"
    raise InputError(f"there is no category {given!r}: {hint}")


def _texts(number: int) -> str:
    return "1 text" if number == 1 else f"{number:,} texts"
