"""`subtaxa discover`: find the categories in a file of labelled texts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from subtaxa.cli import fit_run
from subtaxa.cli.options import add_keep, add_texts_file, columns_to_keep

if TYPE_CHECKING:
    from subtaxa.data.kept_columns import KeptColumns
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
    add_keep(command)
    fit_run.add_options(command, out=None)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.data.kept_columns import read_columns
    from subtaxa.data.readers import open_file
    from subtaxa.data.texts import read_texts

    def read() -> tuple[CoarseTexts, KeptColumns]:
        texts = read_texts(options.file, options.text, options.label, strict=options.strict)
        used = (texts.text_column, texts.label_column)
        columns = read_columns(open_file(options.file), texts.rows, columns_to_keep(options.keep), used)
        return texts.with_normalised_labels() if options.normalise_labels else texts, columns

    fit_run.fit_and_save(options, read)
