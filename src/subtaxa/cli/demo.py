"""`subtaxa demo`: find the categories of the built-in example and compare them with the known ones."""

from __future__ import annotations

import argparse
from typing import Any

from subtaxa.cli import fit_run
from subtaxa.runtime.terminal import say


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "demo",
        help="try discover on the built-in support messages",
        description="Run discover on the built-in support messages and compare the result with their known categories.",
        usage="subtaxa demo [options]",
    )
    fit_run.add_options(command, out="demo")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.data.example import FOLDER, example_texts
    from subtaxa.data.kept_columns import NO_COLUMNS

    model = fit_run.fit_and_save(options, lambda: (example_texts(), NO_COLUMNS))
    if model is not None:
        from subtaxa.bench.scoring import score_example

        say(score_example(model, FOLDER / "support_fine.csv"))
