"""`subtaxa open`: look at a run and correct it in the browser, or start one."""

from __future__ import annotations

import argparse
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from subtaxa.cli.options import add_quiet
from subtaxa.errors import SettingError
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.terminal import say

DESCRIPTION = """\
Look at a run and correct it in the browser. Every change is written to the run at once and can be undone. Without a
run folder, the app lists the runs below the current folder and takes a file to start with. It listens only on this
machine (127.0.0.1), unless you give --host, and needs the link that it prints. Ctrl-C ends it and updates the tables
and the report of the run. It needs the extra app: pip install "subtaxa[app]"."""

WARNING = (
    "warning: everybody who can reach {} and has the link can read and change the texts, and the connection is not "
    "encrypted: use it in a trusted network only"
)


def add_parser(commands: Any) -> None:
    command = commands.add_parser("open", help="look at a run and correct it in the browser", description=DESCRIPTION)
    command.add_argument("folder", metavar="RUN", nargs="?", help="run folder written by discover")
    command.add_argument("--no-browser", action="store_true", help="only print the link")
    command.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address of this machine to listen on; whoever has the link can use the app (default: 127.0.0.1)",
    )
    add_quiet(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise SettingError('the app needs Starlette and uvicorn, which are missing: pip install "subtaxa[app]"')
    from subtaxa.runtime.progress import progress_for

    with progress_for(quiet=options.quiet).step("Starting up"):
        from subtaxa.app.server import check_host, is_loopback, serve
    folder = None if options.folder is None else Path(options.folder)
    check_host(options.host)

    def announce(link: str) -> None:
        if not is_loopback(options.host):
            say(WARNING.format(options.host), sys.stderr)
        say(f"{link}\nThis link is only for you. Ctrl-C ends the app.")

    try:
        serve(folder, browse=not options.no_browser, announce=announce, host=options.host)
    except Stopped as stop:
        if stop.signal_number != signal.SIGINT:
            raise
    say("Everything is saved.")
