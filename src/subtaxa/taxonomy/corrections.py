"""The corrections that a reader made in the report: read from the file that the page gives, and carried out as edits.

{"subtaxa corrections": 1, "run": "…", "edits": 0, "corrections": [{"do": "merge", "categories": [3, 7]}, …]}

All of them are carried out, or none. Besides the edits there are, `wrong` stands for texts whose category is wrong:
each goes to the next best one of its label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.errors import InputError
from subtaxa.taxonomy import edit_log
from subtaxa.taxonomy.editing import apply_log, working_taxonomy
from subtaxa.taxonomy.fitted_state import FittedState
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

FORMAT = 1
NAME = "subtaxa corrections"
AT_MOST = 64 * 2**20  # bytes of a file
PARTS: dict[str, dict[str, tuple[type, ...]]] = {  # what a correction of each kind holds
    "rename": {"category": (int,), "name": (str,)},
    "merge": {"categories": (list,)},
    "split": {"category": (int,), "into": (int, type(None))},
    "move": {"rows": (list,), "to": (int,)},
    "wrong": {"rows": (list,)},
}


def correct(state: FittedState, path: Path, fingerprint: str) -> list[edit_log.Edit]:
    """Carry out the corrections of a file on the run of that fingerprint, and give the edits that they came to."""
    content = _read(path)
    if content["run"] != fingerprint:
        raise InputError(f"{str(path)!r} has corrections of another run: give the folder of the report they are from")
    if content["edits"] != len(state.edits):
        raise InputError(
            f"{str(path)!r} was made when the run had {content['edits']} edits and it has {len(state.edits)} now: "
            "open its report.html again and make the corrections there"
        )
    filing, log = working_taxonomy(state), list(state.edits)
    for number, correction in enumerate(content["corrections"], 1):
        try:
            for what in _simple(filing, _checked(correction)):
                edit = edit_log.make(what.pop("do"), filing, log, **what)
                edit_log.carry_out(filing, edit)
                log.append(edit_log.numbered(edit, log))
        except InputError as error:
            raise InputError(f"correction {number} of {str(path)!r} cannot be made, so none was: {error}") from error
    new = log[len(state.edits) :]
    apply_log(state, log)
    return new


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > AT_MOST:
            raise InputError(f"{str(path)!r} is too large for corrections: give the file that the report's page gave")
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"there is no file {str(path)!r}: download the corrections from the report's page") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not JSON ({error}): give the file that the report's page gave") from error
    if (
        not isinstance(content, dict)
        or content.get(NAME) != FORMAT
        or not isinstance(content.get("run"), str)
        or type(content.get("edits")) is not int
        or not isinstance(content.get("corrections"), list)
    ):
        raise InputError(f"{str(path)!r} holds no corrections: give the file that the report's page gave")
    return content


def _checked(correction: Any) -> dict[str, Any]:
    """The correction with the parts that its kind has, and no others."""
    kind = correction.get("do") if isinstance(correction, Mapping) else None
    parts = PARTS.get(kind) if isinstance(kind, str) else None
    if parts is None:
        raise InputError(f"{kind!r} is no kind of correction, use {', '.join(PARTS)}")
    for name, types in parts.items():
        given = correction.get(name)
        numbers = given if isinstance(given, list) else [given] if type(given) is int else []
        if type(given) not in types or not all(type(i) is int and 0 <= i < 2**53 for i in numbers):
            raise InputError(f"its {name!r} is {str(given)[:60]!r}")
    return {"do": kind, **{name: correction[name] for name in parts}}


def _simple(filing: WorkingTaxonomy, correction: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The correction as edits there are."""
    if correction["do"] != "wrong":
        yield correction
        return
    targets: dict[int, list[int]] = {}
    for place in filing.positions(correction["rows"]).tolist():
        targets.setdefault(_next_best(filing, place), []).append(int(filing.rows[place]))
    for to, rows in sorted(targets.items()):
        yield {"do": "move", "rows": rows, "to": to}


def _next_best(filing: WorkingTaxonomy, place: int) -> int:
    """The category nearest to a text, of those of its label that it is not in."""
    own, label = int(filing.category[place]), filing.labels[place]
    others = [c.id for c in filing.categories.values() if c.parent == label and c.id != own]
    if not others:
        raise InputError(f"the text of row {filing.rows[place]} has no other category: {label!r} has a single one")
    similarity = np.stack([filing.centroids[i] for i in others]) @ filing.features[place]  # (K,)
    return others[int(similarity.argmax())]
