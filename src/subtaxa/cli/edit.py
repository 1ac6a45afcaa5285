"""The commands that repair a saved run: split, merge, rename, move, undo, and edit for corrections from the report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from subtaxa.runtime.progress import Progress
from subtaxa.settings import whole_number


def add_commands(commands: Any) -> list[Any]:
    """Add the parsers to the command line and return them; each sets `make`, which gives the edit from the options."""
    category = "a category, by id, name or label/name"
    split = _command(commands, "split", "make several categories of one")
    split.add_argument("category", help=category)
    split.add_argument("--into", metavar="N", help="how many (default: as many as are clearest)")
    split.set_defaults(make=lambda o: {"category": o.category, "into": o.into and whole_number(o.into, "--into")})

    merge = _command(commands, "merge", "make one category of several of the same label")
    merge.add_argument("categories", nargs="+", metavar="category", help=f"{category}; the first keeps its id")
    merge.set_defaults(make=lambda o: {"categories": o.categories})

    rename = _command(commands, "rename", "give a category a name, which is kept from then on")
    rename.add_argument("category", help=category)
    rename.add_argument("name")
    rename.set_defaults(make=lambda o: {"category": o.category, "name": o.name})

    move = _command(commands, "move", "file some texts under another category of their label")
    move.add_argument("rows", nargs="+", metavar="row", help="rows of the texts, as in the assignments")
    move.add_argument("--to", required=True, metavar="CATEGORY", help=category)
    move.set_defaults(make=lambda o: {"rows": [whole_number(row, "row") for row in o.rows], "to": o.to})

    undo = _command(commands, "undo", "take back the last edit")
    undo.set_defaults(make=lambda o: {})

    edit = _command(commands, "edit", "carry out the corrections that were made in the report")
    edit.add_argument("file", metavar="corrections.json", help="the file that the report's page gave")
    return [split, merge, rename, move, undo, edit]


def _command(commands: Any, name: str, about: str) -> Any:
    command = commands.add_parser(name, help=about)
    command.add_argument("folder", metavar="run", help="the folder that discover wrote")
    command.add_argument("--quiet", action="store_true", help="no progress")
    return command


def edit_run(options: argparse.Namespace, progress: Progress) -> str:
    """Carry out edits on a run folder, and what to tell about it: what was done and the labels' categories."""
    from subtaxa.runs.layout import clear_left, read_run
    from subtaxa.runtime.folder_lock import exclusive

    read_run(Path(options.folder))  # or there is nothing to lock
    with exclusive(Path(options.folder)):
        clear_left(Path(options.folder))
        return _edit_alone(options, progress)


def _edit_alone(options: argparse.Namespace, progress: Progress) -> str:
    what = options.make(options) if "make" in options else None
    with progress.step("Loading the run"):
        from subtaxa.runs.layout import read_run
        from subtaxa.runs.load import load_run
        from subtaxa.runs.save import save_edits
        from subtaxa.taxonomy.corrections import correct
        from subtaxa.taxonomy.editing import edit

        state = load_run(Path(options.folder))
    before, known = state.taxonomy, len(state.edits)
    if what is None:
        with progress.step("Carrying out the corrections"):
            correct(state, Path(options.file), read_run(Path(options.folder))["data"]["fingerprint"])
    else:
        edit(state, options.command, **what)
    with progress.step("Writing the run"):
        save_edits(state, Path(options.folder))
    after = state.taxonomy
    changed = {c.parent for c in {*before} ^ {*after}}
    tree = type(after)(tuple(c for c in after if c.parent in changed))
    done = "\n".join(entry["says"] for entry in state.edits[known:])
    return f"{done or 'no corrections: nothing was changed'}\n{tree}".rstrip()
