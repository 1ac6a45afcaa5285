"""Whether runs may stand in one table: they must share their code, their data and what their budget makes equal.

Two runs conflict if a file that both results depend on has changed between them. A run of 0.1 does not say which code
made it, so it conflicts with every other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from subtaxa.bench.budgets import BUDGETS
from subtaxa.bench.records import Record
from subtaxa.errors import SubtaxaError

MARK = "§"
NOTE = (
    f"{MARK} made by other code, on other data or with another budget than the other rows, or by subtaxa 0.1, whose "
    "records do not say which code made them."
)


def consistent(records: Sequence[Record], mix: bool = False) -> list[Record]:
    """The same runs, if they may stand in one table. With `mix`, they may always, and those that differ are marked."""
    usual = _usual_facts(records)
    if mix:
        return [run if _fits(run, usual) else Record({**run.content, "differs": True}, run.folder) for run in records]
    for run in records:
        if not run.code:
            raise SubtaxaError(
                f"{str(run.folder)!r} does not say which code made it: run it again, or show it with --mix-digests"
            )
        for name, value in _facts(run):
            if usual[name] != value:
                raise SubtaxaError(
                    f"{str(run.folder)!r} differs from other runs of the table in {name}: run it again with "
                    "`subtaxa bench run --renew`, or show them together with --mix-digests"
                )
    return list(records)


def differs(runs: Sequence[Record]) -> bool:
    """Whether `consistent` has marked one of the runs."""
    return any(run.content.get("differs", False) for run in runs)


def marked(name: str, runs: Sequence[Record]) -> str:
    """The name of a row, with a mark if one of its runs differs from those of the other rows."""
    return f"{name} {MARK}" if differs(runs) else name


def notes(runs: Sequence[Record]) -> list[str]:
    return [NOTE] if differs(runs) else []


def _fits(run: Record, usual: dict[str, Any]) -> bool:
    return bool(run.code) and all(usual[name] == value for name, value in _facts(run))


def _usual_facts(records: Sequence[Record]) -> dict[str, Any]:
    """The value of each fact that most runs share. Newer runs decide a tie."""
    counts: dict[str, Counter[Any]] = {}
    for run in sorted(records, key=lambda run: str(run.content.get("created", "")), reverse=True):
        for name, value in _facts(run):
            counts.setdefault(name, Counter())[value] += 1
    return {name: found.most_common(1)[0][0] for name, found in counts.items()}


def _facts(run: Record) -> Iterator[tuple[str, Any]]:
    """What must be the same in all runs that have it, each with a name for messages."""
    yield from ((f"the code of {module}", digest) for module, digest in run.code.items())
    if "fingerprint" in run.data:
        part = f" cut to {run.limit} texts" if run.limit else ""
        yield f"the data {run.dataset}{part}", run.data["fingerprint"]
    if run.budget in BUDGETS:
        for name in BUDGETS[run.budget].settings:
            if name not in run.changes:
                yield f"the setting {name} of budget {run.budget} on {run.dataset}", run.settings.get(name)
