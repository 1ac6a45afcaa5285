"""Options that several commands share."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from typing import Any

from subtaxa.cli.old_spellings import add_old_spelling
from subtaxa.engines import ENGINES
from subtaxa.settings import NAMES, PRESETS, RENAMED, about, either


def add_run_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", metavar="RUN", help="run folder written by discover")


def add_quiet(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def add_preset(command: argparse.ArgumentParser) -> None:
    command.add_argument("--preset", default="default", metavar="NAME", help=f"{either(PRESETS)} (default: default)")


def add_texts_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="CSV, TSV, JSONL or Parquet file, optionally gzipped")
    command.add_argument("--text", metavar="COLUMN", help="column with the texts (default: found by its name)")


def add_new_texts(command: argparse.ArgumentParser) -> None:
    """The run folder, the file of new texts, and the columns to read from it."""
    add_run_folder(command)
    add_texts_file(command)
    command.add_argument(
        "--label", metavar="COLUMN", help="column with known coarse labels; each text then gets a category of its label"
    )


def add_keep(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--keep",
        default="all",
        metavar="COLUMNS",
        help='other columns to keep: all, none, or names as in "date,channel" (default: all)',
    )


def columns_to_keep(keep: str) -> list[str] | None:
    """The columns that --keep names; None means all. A name with a comma stands in double quotes."""
    if keep.strip() == "all":
        return None
    return [] if keep.strip() == "none" else [name.strip() for name in next(csv.reader([keep]), [])]


def add_engine_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("cluster options (pip install 'subtaxa[cluster]')")
    group.add_argument(
        "--engine", default="local", choices=ENGINES, help="where to run: this machine or Ray (default: local)"
    )
    group.add_argument("--workers", metavar="N", help="number of Ray workers (default: 2)")
    group.add_argument("--gpus-per-worker", metavar="N", help="GPUs of each worker (default: 0)")
    group.add_argument(
        "--address", metavar="HOST", help="address of a running Ray cluster (default: start Ray on this machine)"
    )


def add_settings(command: argparse.ArgumentParser, names: Iterable[str], title: str) -> None:
    """One option for each of these settings, and the hidden old spelling of those that were renamed."""
    group = command.add_argument_group(title)
    for name in names:
        group.add_argument(option(name), dest=name, metavar="X", help=about(name).replace("%", "%%"))
    for old, new in RENAMED.items():
        if new in names:
            add_old_spelling(group, option(old), option(new))


def given_settings(options: argparse.Namespace, names: Iterable[str] = NAMES) -> dict[str, Any]:
    """The settings that were given on the command line, as text."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def option(name: str) -> str:
    """The spelling of a Python name on the command line."""
    return f"--{name.replace('_', '-')}"
