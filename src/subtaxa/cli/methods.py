"""`subtaxa methods`: list the training methods."""

from __future__ import annotations

import argparse
from typing import Any

from subtaxa.runtime.terminal import say
from subtaxa.settings import PRESETS


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "methods",
        help="list the training methods",
        description="List the training methods, one line each. Choose one with discover --method NAME.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.methods import variants

    default, width = PRESETS["default"]["method"], max(map(len, variants()))
    for name, method in variants().items():
        mark = "  (default)" if name == default else ""
        say(f"{name:{width}} {(method.__doc__ or '').strip().partition(chr(10))[0]}{mark}")
