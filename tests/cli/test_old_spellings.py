"""Options of 0.1 still work. They are hidden in the help and print one line with the new spelling."""

from __future__ import annotations

import pytest

from subtaxa.cli.main import parser
from subtaxa.settings import RENAMED

NAME = ["name", "run", "--endpoint", "http://localhost/v1", "--model", "m"]
DISCOVER = ["discover", "tickets.csv", "--out", "run"]
BENCH = ["bench", "run", "--dataset", "wos"]
OLD = [
    *((command, "--clip", "--max-grad-norm", "0.5") for command in (DISCOVER, BENCH, ["demo"])),
    (DISCOVER, "--view", "--augment", "none"),
    (DISCOVER, "--view-rate", "--augment-rate", "0.1"),
    (DISCOVER, "--view-tokens", "--augment-tokens", "32"),
    (DISCOVER, "--rank-dimensions", "--rank-top-m", "3"),
    (NAME, "--key-variable", "--api-key-env", "MY_KEY"),
    (NAME, "--again", "--rename-all", None),
]


@pytest.mark.parametrize(("command", "old", "new", "value"), OLD)
def test_an_old_spelling_means_the_new_one_and_says_so(
    command: list[str], old: str, new: str, value: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [] if value is None else [value]
    expected = parser().parse_args([*command, new, *more])
    assert capsys.readouterr().err == ""
    assert parser().parse_args([*command, old, *more]) == expected
    assert capsys.readouterr().err == f"subtaxa: {old} is now {new}; the old spelling will be removed in 0.3.0\n"


@pytest.mark.parametrize("command", [DISCOVER[:1], NAME[:1], BENCH[:2], ["demo"]], ids=" ".join)
def test_the_help_shows_the_new_spellings_only(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--help"])
    words = set(capsys.readouterr().out.split())
    assert not words & {old for _, old, _, _ in OLD}
    assert ("--rename-all" in words) is (command == ["name"])
    assert ("--max-grad-norm" in words) is (command != ["name"])


def test_every_renamed_setting_has_its_old_option() -> None:
    assert {f"--{name.replace('_', '-')}" for name in RENAMED} <= {old for _, old, _, _ in OLD}
