"""The command `subtaxa name`: names by a language model, for those who want them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.runtime.progress import Progress

if TYPE_CHECKING:
    from subtaxa.taxonomy.chat_client import ChatServer

ABOUT = """\
Ask a language model for the names of a run's categories. This is the only command that sends your data anywhere, and
it sends it to no other server than yours: for each category the name of its label, its keywords, up to 5 of its texts
(the examples of categories.csv, 300 characters of each) and the names of up to 50 other categories of the label
(which are keywords, unless someone named them). Names that a person gave stay, and so do all keywords. Each name is
kept as it comes: stopped, the same command goes on with the categories that have none by a model yet; undo takes back
the last one."""


def add_command(commands: Any) -> Any:
    """Add the parser to the command line and return it."""
    command = commands.add_parser("name", help="let a language model of your choice name the categories")
    command.description = ABOUT
    command.add_argument("folder", metavar="run", help="the folder that discover wrote")
    command.add_argument(
        "--endpoint", required=True, metavar="URL", help="an OpenAI-compatible server, as http://localhost:8080/v1"
    )
    command.add_argument("--model", required=True, metavar="NAME", help="the model, as the server calls it")
    command.add_argument(
        "--key-variable",
        metavar="NAME",
        help="the environment variable that holds the server's key (default: OPENAI_API_KEY, if set; '' sends none)",
    )
    command.add_argument("--again", action="store_true", help="name anew also what a model has named")
    command.add_argument("--quiet", action="store_true", help="no progress")
    return command


def name_run(options: argparse.Namespace, progress: Progress) -> list[str]:
    """Name the categories of a run folder, and what to tell about it."""
    from subtaxa.taxonomy.chat_client import ChatServer
    from subtaxa.taxonomy.edit_log import name
    from subtaxa.taxonomy.model_names import find_name

    server = ChatServer(options.endpoint, options.model, options.key_variable)
    with progress.step("Loading the run"):
        from subtaxa.runs.edit_session import EditSession

        session = EditSession(Path(options.folder))
    categories = session.state.taxonomy
    wanted = [c for c in categories if not c.named and (options.again or not c.namer)]
    named = 0
    try:
        with progress.step("Naming", len(wanted)) as step:
            for category in wanted:
                siblings = [c for c in session.working.taxonomy().children(category.parent) if c.id != category.id]
                found = find_name(server.ask, category, siblings)
                if found:
                    session.add(name(session.working, category.id, found, server.model))
                    named += 1
                step.note(found)
                step.advance()
    except BaseException:
        progress.say(_told(server, named, len(wanted)))
        raise
    finally:
        with progress.step("Writing the run"):
            after = session.finish()
    lines = [str(after), "", _told(server, named, len(wanted))]
    if not options.again and (before := sum(bool(c.namer) for c in categories)):
        lines.append(f"named by a model before: {before} (--again names them anew)")
    if kept := sum(c.named for c in categories):
        lines.append(f"named by a person, and left so: {kept}")
    if named < len(wanted):
        lines.append(f"without a usable answer, also when asked again: {len(wanted) - named} (their keywords stay)")
    return lines


def _told(server: ChatServer, named: int, wanted: int) -> str:
    return f"{server.model} named {named} of {wanted} categories; tokens: {server.tokens_told}"
