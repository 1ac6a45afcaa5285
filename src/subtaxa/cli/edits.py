"""The commands that edit a run by hand: split, merge, rename, move, recut, undo, and edit for the report's corrections.

They share one file because they share one `run`: load the run, carry out edits, save it, and show what changed. A
command adds only its arguments, and `edit_from`, which turns them into the arguments of `taxonomy.editing.edit`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.categories_option import parse_categories
from subtaxa.cli.options import add_quiet, add_run_folder
from subtaxa.runtime.terminal import say
from subtaxa.settings import whole_number

if TYPE_CHECKING:
    from subtaxa.runtime.progress import Progress
    from subtaxa.taxonomy.categories import Taxonomy
    from subtaxa.taxonomy.fitted_state import FittedState

CATEGORY = "category, given by id, name or label/name"


def add_parser(commands: Any) -> None:
    split = _add(commands, "split", "split a category into several")
    split.add_argument("category", metavar="CATEGORY", help=CATEGORY)
    split.add_argument("--into", metavar="N", help="number of parts (default: estimated from the texts)")
    split.set_defaults(edit_from=lambda o: {"category": o.category, "into": o.into and whole_number(o.into, "--into")})

    merge = _add(commands, "merge", "merge categories of one label")
    merge.add_argument("categories", nargs="+", metavar="CATEGORY", help=f"{CATEGORY}; the first one keeps its id")
    merge.set_defaults(edit_from=lambda o: {"categories": o.categories})

    rename = _add(commands, "rename", "rename a category; the name stays when the run is updated")
    rename.add_argument("category", metavar="CATEGORY", help=CATEGORY)
    rename.add_argument("name", metavar="NAME", help="the new name")
    rename.set_defaults(edit_from=lambda o: {"category": o.category, "name": o.name})

    move = _add(commands, "move", "move texts to another category of their label")
    move.add_argument("rows", nargs="+", metavar="ROW", help="row of a text, as in the assignments table")
    move.add_argument("--to", required=True, metavar="CATEGORY", help=CATEGORY)
    move.set_defaults(edit_from=lambda o: {"rows": [whole_number(row, "row") for row in o.rows], "to": o.to})

    recut = _add(commands, "recut", "choose more or fewer categories from the tree of the run, without training")
    number = recut.add_mutually_exclusive_group(required=True)
    number.add_argument("--categories", metavar="N", help='total number, or "billing=6,login=3" for some labels')
    number.add_argument("--finer", action="store_true", help="about a quarter more categories than now")
    number.add_argument("--coarser", action="store_true", help="about a fifth fewer categories than now")
    recut.set_defaults(
        edit_from=lambda o: {
            "categories": None if o.categories is None else parse_categories(o.categories),
            "finer": o.finer if o.categories is None else None,
        }
    )

    undo = _add(commands, "undo", "undo the last edit")
    undo.set_defaults(edit_from=lambda o: {})

    edit = _add(commands, "edit", "apply the corrections made in the report")
    edit.add_argument("file", metavar="FILE", help="corrections.json, downloaded from the report")
    edit.set_defaults(edit_from=None)


def _add(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}. The tables and the report of the run are updated.",
    )
    add_run_folder(command)
    add_quiet(command)
    command.set_defaults(run=run)
    return command


def run(options: argparse.Namespace) -> None:
    from subtaxa.runs.reading import read_run
    from subtaxa.runtime.folder_lock import exclusive
    from subtaxa.runtime.progress import progress_for

    folder = Path(options.folder)
    read_run(folder)  # Refuse a folder that holds no run before locking it.
    with exclusive(folder):
        _edit(folder, options, progress_for(quiet=options.quiet))


def _edit(folder: Path, options: argparse.Namespace, progress: Progress) -> None:
    arguments = options.edit_from(options) if options.edit_from else None
    with progress.step("Loading the run"):
        from subtaxa.runs.load import load_run
        from subtaxa.runs.save import save_edits
        from subtaxa.taxonomy.editing import edit

        state = load_run(folder)
    before, known = state.taxonomy, len(state.edits)
    if arguments is None:
        _apply_corrections(state, folder, Path(options.file), progress)
    else:
        edit(state, options.command, **arguments)
    with progress.step("Writing the run"):
        save_edits(state, folder)
    done = "\n".join(entry["says"] for entry in state.edits[known:])
    say(f"{done or 'no corrections: nothing changed'}\n{_changed_labels(before, state.taxonomy)}".rstrip())


def _apply_corrections(state: FittedState, folder: Path, file: Path, progress: Progress) -> None:
    from subtaxa.runs.reading import read_run
    from subtaxa.taxonomy.corrections import correct

    with progress.step("Applying the corrections"):
        correct(state, file, read_run(folder)["data"]["fingerprint"])


def _changed_labels(before: Taxonomy, after: Taxonomy) -> Taxonomy:
    """The labels in which a category changed, as they are now."""
    changed = {c.parent for c in {*before} ^ {*after}}
    return type(after)(tuple(c for c in after if c.parent in changed))
