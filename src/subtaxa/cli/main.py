"""The entry point of the command line: builds the parser, runs a command and returns its exit code.

Each command has a module with `add_parser`, which declares its arguments, and `run`, which carries it out. These
modules import slow libraries inside `run`, so that `subtaxa --help` stays fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from subtaxa import __version__
from subtaxa.cli import (
    ask,
    assign,
    bench,
    compare,
    demo,
    discover,
    edits,
    encoders,
    export,
    info,
    mcp_server,
    methods,
    name,
    open_app,
    update,
)
from subtaxa.cli.engine import check_launcher
from subtaxa.cli.exits import failed, stopped, watch_signals
from subtaxa.runtime.cores import share_cores
from subtaxa.runtime.launcher import is_first_process
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.terminal import printable

COMMANDS = (
    *(discover, demo, open_app, mcp_server, assign, update, info, compare, export),
    *(ask, edits, name, methods, encoders, bench),
)


class _Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line instead of printing the whole usage."""

    def error(self, message: str) -> NoReturn:
        line = printable(f"{self.prog}: {message} (see {self.prog} --help)")
        self.exit(2, f"{line}\n" if is_first_process() else None)


def parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    root = _Parser(
        prog="subtaxa",
        description="Find the fine-grained categories hidden inside coarse labels.",
        epilog="Try it: subtaxa demo --preset quick. Options of a command: subtaxa COMMAND --help.",
    )
    root.add_argument("--version", action="version", version=f"subtaxa {__version__}", help="show the version and exit")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for command in COMMANDS:
        command.add_parser(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0 on success, 2 after a user error and 128 + n after signal n."""
    options = parser().parse_args(arguments)
    watch_signals()
    share_cores()
    try:
        check_launcher(options)
        if is_first_process():
            options.run(options)
        else:
            _join_training()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return stopped(options.command)
    except Exception as error:
        code = failed(error, options.command) if Stopped.last_signal is None else stopped(options.command)
        if code is None:
            raise
        return code
    return 0


def _join_training() -> None:
    """Help with the training and print nothing. Every process that torchrun started does this, except the first."""
    from subtaxa.engines.torchrun import take_part

    take_part()
