"""Corrections that a reader made in the report: read from the downloaded file and applied as edits.

{"subtaxa corrections": 1, "run": "…", "edits": 0, "corrections": [{"do": "merge", "categories": [3, 7]}, …]}

Either all of them are applied or none. Besides the kinds of edits there is `wrong`, for texts in the wrong category:
each moves to the next best category of its label. A `recut` gives a total, or numbers by label:

{"do": "recut", "categories": 27} or {"do": "recut", "categories": {"billing": 6, "login": 3}}

`new` moves texts of one label to a new category: {"do": "new", "rows": [3, 7], "name": "double charge"}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.data.values import clean
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.taxonomy import edit_log, edits
from subtaxa.taxonomy.editing import apply_log, working_taxonomy
from subtaxa.taxonomy.fitted_state import FittedState
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

FORMAT = 1
NAME = "subtaxa corrections"
# The largest file that is read, in bytes.
MAX_BYTES = 64 * 2**20
# The parts of a correction of each kind, and their types.
PARTS: dict[str, dict[str, tuple[type, ...]]] = {
    "rename": {"category": (int,), "name": (str,)},
    "merge": {"categories": (list,)},
    "split": {"category": (int,), "into": (int, type(None))},
    "move": {"rows": (list,), "to": (int,)},
    "wrong": {"rows": (list,)},
    "new": {"rows": (list,), "name": (str,)},
    "recut": {"categories": (int, dict)},
}


def correct(state: FittedState, path: Path, fingerprint: str) -> list[edit_log.Edit]:
    """Apply the corrections in a file to the state of the run with this fingerprint. Returns the resulting edits."""
    content = _read(path)
    if content["run"] != fingerprint:
        raise InputError(
            f"{str(path)!r} holds corrections of another run: give the folder of the run whose report they come from"
        )
    if content["edits"] != len(state.edits):
        raise InputError(
            f"{str(path)!r} was made when the run had {content['edits']} edits, and now it has {len(state.edits)}: "
            "reload its report.html and make the corrections there"
        )
    working, log = working_taxonomy(state), list(state.edits)
    for number, correction in enumerate(content["corrections"], 1):
        try:
            carry_out(working, log, correction)
        except SubtaxaError as error:
            raise InputError(f"correction {number} of {str(path)!r} cannot be applied, so none was: {error}") from error
    new = log[len(state.edits) :]
    apply_log(state, log)
    return new


def carry_out(working: WorkingTaxonomy, log: list[edit_log.Edit], correction: Any) -> None:
    """Apply a correction to the categories, and add its edits to the log."""
    for what in as_edits(working, checked(correction)):
        edit = edits.create(what.pop("do"), working, log, **what)
        log.append(edit_log.apply_new(working, edit, log))


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{str(path)!r} is too large for a file of corrections: give the file from the report")
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"there is no file {str(path)!r}: download the corrections from the report") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not JSON ({error}): give the file from the report") from error
    if (
        not isinstance(content, dict)
        or content.get(NAME) != FORMAT
        or not isinstance(content.get("run"), str)
        or type(content.get("edits")) is not int
        or not isinstance(content.get("corrections"), list)
    ):
        raise InputError(f"{str(path)!r} holds no corrections: give the file from the report")
    return content


def checked(correction: Any) -> dict[str, Any]:
    """The correction with only the parts that its kind has."""
    kind = correction.get("do") if isinstance(correction, Mapping) else None
    parts = PARTS.get(kind) if isinstance(kind, str) else None
    if parts is None:
        raise InputError(f"{kind!r} is not a kind of correction: use {', '.join(PARTS)}")
    for name, types in parts.items():
        given = correction.get(name)
        if type(given) not in types or not all(type(i) is int and 0 <= i < 2**53 for i in _numbers(given)):
            raise InputError(f"its {name!r} cannot be {str(given)[:60]!r}")
    return {"do": kind, **{name: correction[name] for name in parts}}


def _numbers(given: Any) -> list[Any]:
    """What must be whole numbers in a part of a correction."""
    if isinstance(given, dict):
        return [*given.values()]
    return given if isinstance(given, list) else [given] if type(given) is int else []


def as_edits(working: WorkingTaxonomy, correction: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The correction as ordinary edits."""
    if correction["do"] == "new":
        yield from _to_new(working, correction["rows"], " ".join(clean(correction["name"]).split()))
        return
    if correction["do"] != "wrong":
        yield correction
        return
    targets: dict[int, list[int]] = {}
    for position in working.positions(correction["rows"]).tolist():
        targets.setdefault(_next_best(working, position), []).append(int(working.rows[position]))
    for to, rows in sorted(targets.items()):
        yield {"do": "move", "rows": rows, "to": to}


def _to_new(working: WorkingTaxonomy, rows: list[int], name: str) -> Iterator[dict[str, Any]]:
    """Split the texts off their largest category that keeps some, then move those of other categories there."""
    positions = np.unique(working.positions(rows))
    found = Counter(working.category[positions].tolist())
    labels = {working.labels[i] for i in positions.tolist()}
    if len(labels) != 1:
        raise InputError("a new category takes texts of one label: choose texts of one label")
    partly = [i for i, n in found.most_common() if n < len(working.members(i))]
    if not partly:
        raise InputError("the texts are whole categories: rename or merge these instead")
    if name and any(c.name == name and c.parent in labels for c in working.categories.values()):
        raise InputError(f"there is already a category {name!r}: move the texts there, or choose another name")
    first, new = partly[0], working.next_id
    own = working.category[positions] == first  # (n,)
    yield {"do": "part", "category": first, "rows": working.rows[positions[own]].tolist()}
    if not own.all():
        yield {"do": "move", "rows": working.rows[positions[~own]].tolist(), "to": new}
    if name:
        yield {"do": "rename", "category": new, "name": name}


def _next_best(working: WorkingTaxonomy, position: int) -> int:
    """The nearest other category of the text's label."""
    own, label = int(working.category[position]), working.labels[position]
    others = [c.id for c in working.categories.values() if c.parent == label and c.id != own]
    if not others:
        raise InputError(f"the text of row {working.rows[position]} has no other category: {label!r} has only one")
    similarity = np.stack([working.centroids[i] for i in others]) @ working.features[position]  # (K,)
    return others[int(similarity.argmax())]
