"""`subtaxa export`: write the taxonomy of a run for another program."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from subtaxa.cli.options import add_run_folder
from subtaxa.cli.output_file import new_file, write_file
from subtaxa.errors import SettingError

# As in runs/export.py, which is imported only when it is needed.
NAMES = ("csv", "parquet", "xlsx", "json", "markdown", "skos")


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "export",
        help="write the categories of a run as CSV, Parquet, Excel, JSON, Markdown or SKOS",
        description="Write the categories of a run for another program. The Excel workbook also has all texts, with "
        "their category and their other columns; SKOS is written as Turtle. The run itself does not change.",
        usage="subtaxa export RUN --out FILE [options]",
    )
    add_run_folder(command)
    command.add_argument("--out", default="-", metavar="FILE", help="file to write; - prints it (default: -)")
    command.add_argument(
        "--format", metavar="NAME", help=f"{', '.join(NAMES[:-1])} or {NAMES[-1]} (default: by the ending of the file)"
    )
    command.add_argument(
        "--base", metavar="ADDRESS", help="what the addresses of SKOS concepts begin with (default: urn:subtaxa:…)"
    )
    command.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.runs.export import export_run

    target = None if options.out == "-" else new_file(options.out, overwrite=options.overwrite)
    form = _format(options.format, target)
    content = export_run(Path(options.folder), form, options.base)
    if target is None:
        _print(content)
    else:
        write_file(target, content)


def _format(name: str | None, target: Path | None) -> str:
    """The format that the user named, or that of the file's ending."""
    from subtaxa.runs.export import BINARY, FORMATS

    if name is None:
        ending = "" if target is None else target.suffix.lower()
        name = next((form for form, usual in FORMATS.items() if usual == ending), None)
    if name not in FORMATS:
        found = "no format" if name is None else f"the format {name!r}"
        raise SettingError(f"there is {found}: type --format with {', '.join(NAMES[:-1])} or {NAMES[-1]}")
    if target is None and name in BINARY:
        raise SettingError(f"{name} cannot be printed: type --out FILE{BINARY[name]}")
    return name


def _print(content: bytes) -> None:
    from subtaxa.runtime.terminal import PrintableBytes

    terminal = sys.stdout.buffer
    (PrintableBytes(terminal) if sys.stdout.isatty() else terminal).write(content)
