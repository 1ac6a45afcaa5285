"""`subtaxa discover`: find the categories in a file of labelled texts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from subtaxa.cli import fit_run
from subtaxa.cli.options import add_texts_file

if TYPE_CHECKING:
    from subtaxa.data.texts import CoarseTexts

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
    command.add_argument(
        "--label",
        metavar="COLUMN",
        help="column with the coarse labels (default: found by its name; without one, all texts have the label all)",
    )
    command.add_argument(
        "--strict", action="store_true", help="stop at a row without text or label instead of skipping it"
    )
    command.add_argument(
        "--normalise-labels",
        action="store_true",
        help="join labels that differ only in case, spaces or Unicode form",
    )
    fit_run.add_options(command, out=None)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.data.texts import read_texts

    def read() -> CoarseTexts:
        texts = read_texts(options.file, options.text, options.label, strict=options.strict)
        return texts.with_normalised_labels() if options.normalise_labels else texts

    fit_run.fit_and_save(options, read)
