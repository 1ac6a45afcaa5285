"""`subtaxa discover`: find the categories in a file of labelled texts."""

from __future__ import annotations

import argparse
from typing import Any

from subtaxa.cli import fit_run
from subtaxa.cli.options import add_texts_file

DESCRIPTION = """\
Find the categories in a file of labelled texts. The run folder holds the tables, the report (report.html) and the
model that assigns new texts."""


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "discover",
        help="find the categories in a file of labelled texts",
        description=DESCRIPTION,
        usage="subtaxa discover FILE --out FOLDER [options]",
    )
    add_texts_file(command)
    command.add_argument("--label", metavar="COLUMN", help="column with the coarse labels (default: found by its name)")
    command.add_argument(
        "--strict", action="store_true", help="stop at a row without text or label instead of skipping it"
    )
    fit_run.add_options(command, out=None)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.data.texts import read_texts

    fit_run.fit_and_save(options, lambda: read_texts(options.file, options.text, options.label, strict=options.strict))
