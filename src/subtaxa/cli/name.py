"""`subtaxa name`: let a language model name the categories of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.old_spellings import add_old_spelling
from subtaxa.cli.options import add_quiet, add_run_folder
from subtaxa.runtime.terminal import say
from subtaxa.settings import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from subtaxa.runs.edit_session import EditSession
    from subtaxa.runtime.progress import Progress
    from subtaxa.taxonomy.categories import Category
    from subtaxa.taxonomy.chat_client import ChatServer

DESCRIPTION = """\
Let a language model name the categories of a run. Only the server you give receives anything: the name of each label;
the current name, the keywords and up to 5 texts of each category (its examples in categories.csv, at most 300
characters each); and the names of up to 50 other categories of the label. The categories of a label are named together,
so that their names differ. If the answer for a category cannot be used, the model is asked again about that category
alone. Names given by a person are kept, and so are all keywords. Each name is saved at once. If the command is stopped,
run it again to name the remaining categories. `subtaxa undo` removes the last name."""


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "name",
        help="let a language model of your choice name the categories",
        description=DESCRIPTION,
        usage="subtaxa name RUN --endpoint URL --model NAME [options]",
    )
    add_run_folder(command)
    add_server_options(command, required=True)
    command.add_argument(
        "--rename-all", action="store_true", help="also rename the categories that a model has already named"
    )
    command.add_argument(
        "--together",
        default="8",
        metavar="N",
        help="number of categories in one question (default: %(default)s; small models need fewer)",
    )
    add_old_spelling(command, "--key-variable", "--api-key-env")
    add_old_spelling(command, "--again", "--rename-all", flag=True)
    add_quiet(command)
    command.set_defaults(run=run)


def add_server_options(command: argparse.ArgumentParser, *, required: bool) -> None:
    """The options that say which language model to use."""
    command.add_argument(
        "--endpoint",
        required=required,
        metavar="URL",
        help="an OpenAI-compatible server, for example http://localhost:8080/v1",
    )
    command.add_argument("--model", required=required, metavar="NAME", help="name of the model on the server")
    command.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="environment variable that holds the API key (default: OPENAI_API_KEY if it is set; '' sends no key)",
    )


def run(options: argparse.Namespace) -> None:
    from subtaxa.runtime.progress import progress_for
    from subtaxa.taxonomy.chat_client import ChatServer

    together = whole_number(options.together, "--together", 1)
    progress = progress_for(quiet=options.quiet)
    server = ChatServer(options.endpoint, options.model, options.api_key_env)
    with progress.step("Loading the run"):
        from subtaxa.runs.edit_session import EditSession

        session = EditSession(Path(options.folder))
    before = session.state.taxonomy
    unnamed = [c for c in before if not c.named and (options.rename_all or not c.namer)]
    named = _name(session, server, unnamed, together, progress)
    say(f"{session.state.taxonomy}\n\n{_result(server, named, unnamed)}")
    if not options.rename_all and (kept := sum(bool(c.namer) for c in before)):
        say(f"already named by a model: {kept} (--rename-all names them again)")
    if kept := sum(c.named for c in before):
        say(f"named by a person and kept: {kept}")
    if failed := len(unnamed) - len(named):
        say(f"no usable answer after two attempts: {failed} (they keep their names)")


def _name(
    session: EditSession, server: ChatServer, unnamed: list[Category], together: int, progress: Progress
) -> list[str]:
    """Name these categories, several of a label at a time. Returns the names.

    Each is logged as soon as it is known, so none is lost on an error.
    """
    from itertools import groupby

    from subtaxa.taxonomy.edits import name
    from subtaxa.taxonomy.model_names import find_name, find_names

    named: list[str] = []

    def keep(category: Category, found: str) -> None:
        if found:
            session.add(name(session.working, category.id, found, server.model))
            named.append(found)
        step.note(found)
        step.advance()

    def without(some: Sequence[Category]) -> list[Category]:
        ids = {c.id for c in some}
        return [c for c in session.working.taxonomy().children(some[0].parent) if c.id not in ids]

    try:
        with progress.step("Naming", len(unnamed)) as step:
            for _, group in groupby(unnamed, key=lambda c: c.parent):
                of_label = list(group)
                for begin in range(0, len(of_label), together):
                    some = of_label[begin : begin + together]
                    found = find_names(server.ask, some, without(some)) if len(some) > 1 else {}
                    for category in some:
                        if category.id in found:
                            keep(category, found[category.id])
                    for category in some:
                        if category.id not in found:
                            keep(category, find_name(server.ask, category, without([category])))
    except BaseException:
        progress.say(_result(server, named, unnamed))
        raise
    finally:
        with progress.step("Writing the run"):
            session.finish()
    return named


def _result(server: ChatServer, named: list[str], unnamed: list[Category]) -> str:
    return f"{server.model} named {len(named)} of {len(unnamed)} categories; tokens: {server.token_summary}"
