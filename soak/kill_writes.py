"""Kill every command that writes into a run folder at each of its renames and removals, and check that nothing is lost.

    python soak/kill_writes.py

A command runs in a fork that sends itself SIGKILL just before the n-th call of the system that renames, removes or
creates something. The run must then be whole: the next command opens it, its tables show its log of edits, it has the
state from before the command or the one after it, and the same command can be repeated. The program prints a Markdown
table. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from commands import Commands, forked, run  # noqa: E402

CALLS = ("rename", "replace", "unlink", "rmdir", "mkdir", "open")
# A new state of the run, without times and dates.
Snapshot = tuple[Any, ...]


def deadly(number: int, folder: Path) -> Callable[[], int]:
    """Send this process SIGKILL before its n-th change of the folder. Returns a function that counts the changes."""
    count = [0]

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *given: Any, **named: Any) -> Any:
            creates = name != "open" or (given and isinstance(given[0], int) and given[0] & os.O_CREAT)
            inside = named.get("dir_fd") is not None or str(path).startswith(str(folder))
            if creates and inside:
                count[0] += 1
                if count[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(path, *given, **named)

        return call

    for name in CALLS:
        setattr(os, name, wrap(name, getattr(os, name)))
    return lambda: count[0]


def snapshot(folder: Path) -> Snapshot:
    """The state of a run, after checking that its files agree with each other."""
    from subtaxa.runs.load import load_run
    from subtaxa.runs.manifest import first_foreign, shows_log

    run(["info", str(folder)])
    state = load_run(folder)
    with (folder / "categories.csv").open(newline="", encoding="utf-8") as file:
        shown = {(int(row["category_id"]), row["category"], int(row["size"])) for row in csv.DictReader(file)}
    if shown != {(c.id, c.name, c.size) for c in state.taxonomy}:
        raise RuntimeError("categories.csv does not show the categories of the run")
    with (folder / "assignments.csv").open(newline="", encoding="utf-8") as file:
        if [int(row["category_id"]) for row in csv.DictReader(file)] != state.labels.tolist():
            raise RuntimeError("assignments.csv does not show the categories of the texts")
    if not shows_log(folder):
        raise RuntimeError("the tables do not show the log of edits")
    if (foreign := first_foreign(folder)) is not None:
        raise RuntimeError(f"{foreign} is not in the manifest")
    categories = tuple((c.id, c.name, c.size) for c in state.taxonomy)
    columns = [(column.name, column.strings()) for column in state.columns]
    return (state.request.seed, len(state.data), categories, len(state.edits), state.features.sum().item(), columns)


class Trials:
    """Kills one command at one call after the other."""

    def __init__(self, commands: Commands, name: str) -> None:
        self.commands, self.name, self.arguments = commands, name, commands.all()[name]
        self.old = self._snapshot(commands.base)
        whole = self._copy("whole")
        self.calls = self._count(whole)
        self.new = self._snapshot(whole)
        if self.new == self.old and not name.startswith("assign"):  # It exports the encoder and changes nothing else.
            raise RuntimeError(f"{name} changes nothing: killing it shows nothing")

    def _copy(self, name: str) -> Path:
        target = self.commands.folder / name
        shutil.rmtree(target, ignore_errors=True)
        return Path(shutil.copytree(self.commands.base, target))

    def _snapshot(self, folder: Path) -> Snapshot:
        kept: Path = self.commands.folder / "snapshot"
        code, why = forked(lambda: kept.write_text(repr(snapshot(folder))) and None)
        if code:
            raise RuntimeError(why)
        return (kept.read_text(),)

    def _count(self, folder: Path) -> int:
        kept = self.commands.folder / "count"

        def work() -> None:
            count = deadly(0, folder)
            run(self.arguments(folder))
            kept.write_text(str(count()))

        code, why = forked(work)
        if code:
            raise RuntimeError(why)
        return int(kept.read_text())

    def kill(self, number: int) -> str:
        """Kill the command before its n-th change. Returns "old", "new" or "between", or raises what went wrong."""
        folder = self._copy("run")

        def work() -> None:
            deadly(number, folder)
            run(self.arguments(folder))

        code, why = forked(work)
        if code != -signal.SIGKILL:
            raise RuntimeError(f"it was not killed: {code} {why}")
        found = self._snapshot(folder)
        if found not in (self.old, self.new) and self.name not in ("name", "ask", "open"):  # They save each edit.
            raise RuntimeError(f"neither the old state nor the new one: {found}")
        code, why = forked(lambda: run(self.arguments(folder)))
        if code and not (found == self.new and self.name in ("merge", "edit", "undo")):  # It was done already.
            raise RuntimeError(f"the command cannot be repeated: {why}")
        self._snapshot(folder)
        return "old" if found == self.old else "new" if found == self.new else "between"


def campaign(
    folder: Path, encoder: str, kills: int, rng: random.Random, only: list[str] | None = None
) -> list[tuple[str, int, dict[str, int], list[str]]]:
    """For each command: its name, the number of its changes, how often each state was found, and what went wrong."""
    commands = Commands(folder, encoder)
    trials = [Trials(commands, name) for name in only or commands.all()]
    share = -(-kills // len(trials))
    rows = []
    for trial in trials:
        numbers = range(1, trial.calls + 1)
        chosen = numbers if len(numbers) <= share else sorted(rng.sample(numbers, share))
        states, wrong = {"old": 0, "new": 0, "between": 0}, []
        for number in chosen:
            try:
                states[trial.kill(number)] += 1
            except RuntimeError as error:
                wrong.append(f"{trial.name}, killed at change {number} of {trial.calls}: {error}")
        rows.append((trial.name, trial.calls, states, wrong))
        print(trial.name, trial.calls, states, wrong, file=sys.stderr, flush=True)
    return rows


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--kills", type=int, default=200, help="number of kills (default: 200)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", nargs="+", metavar="COMMAND", help="kill only these commands (default: all)")
    given = options.parse_args()
    from helpers.tiny_encoder import make_tiny_encoder

    with tempfile.TemporaryDirectory(prefix="subtaxa-kill-writes-") as name:
        (Path(name) / "tiny").mkdir()
        encoder = make_tiny_encoder(Path(name) / "tiny")
        rows = campaign(Path(name), encoder, given.kills, random.Random(given.seed), given.only)
    print("| command | changes of the folder | kills | old state | new state | between |\n|---|---|---|---|---|---|")
    for command, calls, states, wrong in rows:
        kills = sum(states.values()) + len(wrong)
        print(f"| {command} | {calls} | {kills} | {states['old']} | {states['new']} | {states['between']} |")
    failures = [line for *_, wrong in rows for line in wrong]
    print(f"\n{sum(sum(states.values()) for _, _, states, _ in rows)} kills, {len(failures)} of them with a loss.")
    for line in failures:
        print(f"- FAILED: {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
