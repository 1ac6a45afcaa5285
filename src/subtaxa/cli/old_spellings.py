"""Old spellings of options. They work until 0.3.0, are hidden in the help and print the new spelling on stderr."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from subtaxa.runtime.terminal import say

REMOVED_IN = "0.3.0"


class _OldSpelling(argparse.Action):
    """Stores the value of the old option under the new one and names the new one on stderr."""

    def __init__(self, option_strings: list[str], dest: str, new: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, **rest)
        self.new = new

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, used: str | None = None) -> None:
        old = self.option_strings[0]
        say(f"subtaxa: {old} is now {self.new}; the old spelling will be removed in {REMOVED_IN}", sys.stderr)
        setattr(namespace, self.dest, True if self.nargs == 0 else values)


def add_old_spelling(group: Any, old: str, new: str, *, flag: bool = False) -> None:
    """Accept `old` for the option `new` of this parser or group; a `flag` takes no value."""
    group.add_argument(
        old,
        action=_OldSpelling,
        new=new,
        dest=new.removeprefix("--").replace("-", "_"),
        nargs=0 if flag else None,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )
