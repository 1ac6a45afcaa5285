"""`subtaxa info`: show what a run found and how."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Any

from subtaxa.cli.options import add_run_folder
from subtaxa.runtime.terminal import say

WIDTH = 100  # Longest line of an explanation, in characters.


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "info",
        help="show the categories of a run and how they were found",
        description="Show the categories of a run, how their number was chosen, and the settings of the run.",
    )
    add_run_folder(command)
    command.add_argument(
        "--outliers", action="store_true", help="list the outliers instead: texts that fit no category"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.report.text_tables import CHOICE_NOTE, OUTLIER_COLUMNS, SCORE_NOTE, number_lines, outlier_lines
    from subtaxa.runs import layout, reading
    from subtaxa.runs.manifest import shows_log

    folder = Path(options.folder)
    facts = reading.read_run(folder)
    if not shows_log(folder):  # A series of edits was stopped before its end.
        from subtaxa.runs.refresh import refresh

        refresh(folder)
    taxonomy = reading.read_taxonomy(folder)
    if options.outliers:
        for line in outlier_lines(reading.read_assignments(folder, OUTLIER_COLUMNS)):
            say(line)
        return
    say(str(taxonomy))
    numbers = reading.read_category_counts(facts)
    say("\nNumber of categories by label:")
    for line in number_lines(numbers):
        say(line)
    if any(count.curve for count in numbers.values()):
        for note in (SCORE_NOTE, CHOICE_NOTE):
            say(textwrap.fill(note, WIDTH))
    data, settings = facts["data"], facts["settings"]
    lines = {
        "source": f"{data['source']} ({data['texts']:,} texts, {data['skipped']} rows skipped)",
        "method": f"{settings['method']}, preset {facts['preset']}, seed {facts['seed']}",
        "encoder": settings["encoder"],
        "time": f"{sum(facts['timings'].values()):.0f} s on {facts['cores']} cores",
        "created": f"{facts['created']} by subtaxa {facts['subtaxa']}",
        "report": folder / layout.REPORT,
    }
    say()
    for name, value in lines.items():
        say(f"{name:>8}  {value}")
