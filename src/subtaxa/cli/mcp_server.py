"""`subtaxa mcp`: offer a run to agents."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from subtaxa.cli.exits import stopped
from subtaxa.cli.options import add_run_folder
from subtaxa.errors import SettingError
from subtaxa.runtime.signals import Stopped

DESCRIPTION = """\
Offer the tools of a run to an agent by the Model Context Protocol (MCP) over standard input and output: search by
meaning, list categories, read their texts, assign texts, propose edits. The program of the agent starts this command.
It needs the extra mcp: pip install "subtaxa[mcp]"."""


def add_parser(commands: Any) -> None:
    command = commands.add_parser("mcp", help="offer a run to agents (Model Context Protocol)", description=DESCRIPTION)
    add_run_folder(command)
    command.add_argument(
        "--allow-edits", action="store_true", help="let the agent change the run; each change can be undone"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if find_spec("mcp") is None:
        raise SettingError('this command needs the package mcp, which is missing: pip install "subtaxa[mcp]"')
    from subtaxa.app.agent_server import serve_agents

    try:
        serve_agents(Path(options.folder), allow_edits=options.allow_edits)
    except Stopped:
        os._exit(stopped(options.command))  # A thread still waits for the client, and Python would wait for it.
