"""`subtaxa update`: add the texts of a file to a run, and propose new categories for those that fit none."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.options import add_keep, add_new_texts, add_quiet, columns_to_keep
from subtaxa.runtime.terminal import say

if TYPE_CHECKING:
    from subtaxa.runtime.progress import Progress


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "update",
        help="add new texts to a run and propose new categories",
        description="Add new texts to a run. Each goes to the category it fits best; texts that fit none but resemble "
        "each other are proposed as new categories. The encoder is not trained again.",
        usage="subtaxa update RUN FILE [options]",
    )
    add_new_texts(command)
    add_keep(command)
    add_quiet(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.runs import reading
    from subtaxa.runtime.folder_lock import exclusive
    from subtaxa.runtime.progress import progress_for

    folder = Path(options.folder)
    reading.read_run(folder)  # Refuse a folder that holds no run before locking it.
    with exclusive(folder):
        _update(folder, options, progress_for(quiet=options.quiet))


def _update(folder: Path, options: argparse.Namespace, progress: Progress) -> None:
    from subtaxa.data.new_texts import read_new_texts
    from subtaxa.runs import layout, reading

    command = str(reading.read_run(folder)["command"])
    with progress.step("Reading the file"):
        keep = columns_to_keep(options.keep)
        texts, labels, columns = read_new_texts(Path(options.file), options.text, options.label, keep)
    with progress.step("Loading the run"):
        from subtaxa.discovery import Discovery

        model = Discovery.load(folder)
    updated = model.update(texts, labels, progress, columns=columns)
    with progress.step("Writing the run"):
        model.save(folder, overwrite=True, command=command)
    added = "1 new text" if updated.n_assigned == 1 else f"{updated.n_assigned:,} new texts"
    say(f"{added} added to existing categories; open {folder / layout.REPORT}")
    if updated.proposed:
        say("Proposed new categories, whose texts resemble each other more than any existing category:")
        for c in updated.proposed:
            say(f"  {c.id}  {c.parent} / {c.name}  {c.size} texts, for example: {c.examples[0]}")
        say("To reject a proposal, merge it into another category: subtaxa merge RUN OTHER PROPOSED")
