"""`subtaxa ask`: answer a few questions that decide where categories end."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.name import add_server_options
from subtaxa.cli.options import add_quiet, add_run_folder
from subtaxa.errors import SettingError
from subtaxa.runtime.terminal import printable, say
from subtaxa.settings import whole_number

if TYPE_CHECKING:
    from subtaxa.runs.edit_session import EditSession
    from subtaxa.taxonomy.asking import Asking
    from subtaxa.taxonomy.questions import Question

DESCRIPTION = """\
Answer questions that decide where categories end. Each question shows two groups of texts: are they one category? An
answer also decides about groups that were not asked about. Every answer is saved at once. Stop at any time, and run the
command again to continue. With --endpoint, a language model answers in your place. The label and the shown
texts of both groups are then sent to the server you give, and nowhere else."""

KEYS = "[y] one category  [n] two categories  [s] skip  [u] undo  [q] quit"
# Longest line of a text, in characters.
WIDTH = 100


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "ask", help="answer a few questions that decide where categories end", description=DESCRIPTION
    )
    add_run_folder(command)
    command.add_argument("--budget", metavar="N", help="maximum number of questions (default: as many as are useful)")
    add_server_options(command, required=False)
    add_quiet(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.runtime.progress import progress_for

    progress = progress_for(quiet=options.quiet)
    if (options.endpoint is None) != (options.model is None):
        raise SettingError("--endpoint and --model go together: give both, or neither to answer yourself")
    budget = 10_000 if options.budget is None else whole_number(options.budget, "--budget", 1)
    with progress.step("Loading the run"):
        from subtaxa.runs.edit_session import EditSession
        from subtaxa.taxonomy.asking import Asking

        session = EditSession(Path(options.folder))
        asking = Asking(session.working, session.log)
    try:
        if options.endpoint is None:
            _ask_person(session, asking, budget)
        else:
            _ask_model(session, asking, budget, options)
    finally:
        with progress.step("Writing the run"):
            session.finish()
    say(f"{len(session.state.taxonomy)} categories; `subtaxa undo` takes back the last answer")


def _ask_person(session: EditSession, asking: Asking, budget: int) -> None:
    """Ask at the terminal until the budget is used, nothing is left or the person stops."""
    given = 0
    while given < budget:
        asked = asking.next()
        if asked is None:
            say("Nothing more is worth asking.")
            return
        _show(asked, len(session.working.categories), asking)
        key = _key()
        if key == "q":
            return
        if key == "u":
            _undo(session, asking)
            continue
        edit = asking.answer(asked, {"y": True, "n": False}.get(key))
        if edit is not None:
            session.add(edit)
            say(f"  {edit['says']}")
            given += 1


def _ask_model(session: EditSession, asking: Asking, budget: int, options: argparse.Namespace) -> None:
    """Let a language model answer. It is asked in both orders, and a contradiction is a skip."""
    from subtaxa.taxonomy.asking import ask_all
    from subtaxa.taxonomy.chat_client import ChatServer
    from subtaxa.taxonomy.model_answers import answer_of

    server = ChatServer(options.endpoint, options.model, options.api_key_env)

    def add(edit: dict[str, Any]) -> None:
        session.add(edit)
        say(f"  {edit['says']}")

    given = ask_all(asking, lambda asked: answer_of(server.ask, asked), budget, add)
    say(f"{server.model} gave {given} answers; tokens: {server.token_summary}")


def _show(asked: Question, number: int, asking: Asking) -> None:
    left = asking.left_to_ask()
    say(f"\n{number:,} categories, {left:,} pair{'s' * (left != 1)} in doubt. Label {asked.label!r}:")
    for side in (asked.left, asked.right):
        say(f"\n  {printable(side.name)}  ({side.size:,} texts)")
        for text in side.texts:
            say(f"    - {textwrap.shorten(text, WIDTH, placeholder=' …')}")
    say("\nAre they one category?")


def _key() -> str:
    """The key that the person typed."""
    while True:
        try:
            typed = input(f"{KEYS}: ").strip().lower()[:1]
        except EOFError:
            return "q"
        if typed in ("y", "n", "s", "u", "q"):
            return typed
        say("Type y, n, s, u or q.")


def _undo(session: EditSession, asking: Asking) -> None:
    """Undo the last answer of this or an earlier session."""
    from subtaxa.taxonomy.edit_log import active_edits

    active = active_edits(session.log)
    if not active or active[-1]["do"] != "answer":
        say("  There is no answer to undo.")
        return
    session.undo()
    asking.restart(session.working, session.log)
    say(f"  undone: {active[-1]['says']}")
