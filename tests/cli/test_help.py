"""The help of every command."""

from __future__ import annotations

import argparse

import pytest

from subtaxa.cli.main import parser


def commands(root: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """All commands by their full name, including subcommands."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in root._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= {below.prog.removeprefix("subtaxa "): below, **commands(below)}
    return found


COMMANDS = commands(parser())


def test_the_list_of_commands() -> None:
    assert list(COMMANDS) == [
        *("discover", "demo", "open", "mcp", "assign", "update", "info", "compare", "export", "ask"),
        *("split", "merge", "rename", "move", "recut", "undo", "edit"),
        *("name", "methods", "encoders", "bench", "bench run", "bench table", "bench figure", "bench compare"),
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_what_it_does_and_explains_every_option(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args([*name.split(), "--help"])
    assert stopped.value.code == 0
    _, description, *_ = capsys.readouterr().out.split("\n\n")
    assert description[0].isupper()
    assert description.rstrip().endswith(".")
    for action in COMMANDS[name]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_function_to_run(name: str) -> None:
    defaults = COMMANDS[name]._defaults
    assert callable(defaults["bench_run"] if name.startswith("bench ") else defaults["run"])
