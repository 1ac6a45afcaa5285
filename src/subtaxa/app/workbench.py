"""The run that the app works on. Each edit is written to its log at once; the tables and the report are written at
the end, or by the next command that opens the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from subtaxa.app.across import alike_across_labels
from subtaxa.app.quality import quality
from subtaxa.app.shared_reader import SharedReader
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.report.content import Content, changing
from subtaxa.report.page import render_report
from subtaxa.runs import reading
from subtaxa.runs.edit_session import EditSession
from subtaxa.runs.manifest import shows_log
from subtaxa.runs.save import report_data
from subtaxa.taxonomy import corrections, edits
from subtaxa.taxonomy.edit_log import Edit, active_edits, apply, undone_edits
from subtaxa.taxonomy.fitted_state import FittedState


class ConflictError(SubtaxaError):
    """The run has other edits than the page that asks for a change knows."""


class Workbench:
    """One run and its edit session. Its methods may be called from several threads: one works at a time.

    Only the encoder has a lock of its own, so that nobody waits while it is loaded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.RLock()
        self._open(None)

    def current(self) -> FittedState:
        """The run as it is now, also if a command in a terminal has changed it."""
        with self.lock:
            if not self.session.is_up_to_date():
                self._reopen()
            return self.session.current()

    def page(self, *, home: bool = False) -> str:
        """The whole page, with a link to all runs if there is a page `home` that lists them."""
        with self.lock:
            data = report_data(self.current(), self.facts)
            return render_report(data, live=self._more(data.content), home=home)

    def view(self) -> dict[str, Any]:
        """What an edit can change, for the page's scripts."""
        with self.lock:
            content = report_data(self.current(), self.facts).content
            return changing(content) | self._more(content)

    def _more(self, content: Content) -> dict[str, Any]:
        """What the app shows besides the report: what happened, the quality in words, and what is alike."""
        active = {edit["edit"] for edit in active_edits(self.session.log)}
        log = [
            {"at": e.get("at", ""), "do": e["do"], "says": e["says"], "active": e["edit"] in active}
            for e in self.session.log
        ]
        undone, state = undone_edits(self.session.log), self.session.current()
        return {
            "log": log,
            "redo": undone[-1]["says"] if undone else None,
            "quality": quality(state, content, self.suspects),
            "across": alike_across_labels(state),
        }

    def correct(self, known: int, correction: Any) -> None:
        """Carry out a correction of the page, given the number of edits that the page knows."""
        with self.lock:
            self.check(known)
            for what in corrections.as_edits(self.session.working, corrections.checked(correction)):
                self.add(edits.create(what.pop("do"), self.session.working, self.session.log, **what))

    def try_out(self, sent: Sequence[Any]) -> tuple[list[str], int]:
        """What some corrections would do, in words, and the number of edits so far. Nothing is changed."""
        with self.lock:
            self.current()
            working, log = self.session.working.copy(), list(self.session.log)
        known = len(log)
        for correction in sent:
            corrections.carry_out(working, log, correction)
        return [edit["says"] for edit in log[known:]], known

    def parts(self, category: int, into: int | None) -> list[dict[str, Any]]:
        """The categories that splitting one would give. Nothing is changed."""
        with self.lock:
            self.current()
            working = self.session.working.copy()
            edit = edits.split(working, category, into)
        apply(working, edit)
        found = [working.categories[part["id"]] for part in edit["parts"]]
        return [{"name": c.name, "size": c.size, "examples": list(c.examples)[:3]} for c in found]

    def add(self, edit: Edit) -> None:
        """Append an edit to the log of the run."""
        self._write(lambda: self.session.add(edit))

    def undo(self, known: int, only: str | None = None) -> None:
        """Undo the last edit or, with `only`, refuse if it is of another kind."""
        with self.lock:
            self.check(known)
            active = active_edits(self.session.log)
            if active and only is not None and active[-1]["do"] != only:
                raise InputError(f"the last edit is not an answer ({active[-1]['says']}): undo it in the history")
            self._write(self.session.undo)

    def redo(self, known: int) -> None:
        """Make the last undone edit once more."""
        with self.lock:
            self.check(known)
            self._write(self.session.redo)

    def check(self, known: int) -> None:
        """Refuse a change that was asked for without knowing all edits of the run."""
        self.current()
        log = self.session.log
        if known != len(log):
            newer = "; ".join(edit["says"] for edit in log[known:][-3:]) if 0 <= known < len(log) else ""
            raise ConflictError(
                f"the run was changed elsewhere{f' ({newer})' if newer else ''}, so your change was not made: "
                "look at the new state and repeat it"
            )

    def close(self) -> None:
        """Write the tables and the report of the run, if it has edits that they do not show."""
        with self.lock:
            if self.session.is_up_to_date() and not shows_log(self.folder):
                self.session.finish()

    def _write(self, change: Callable[[], None]) -> None:
        """Carry out a change. If it cannot be written, forget it: what counts is the log on disk."""
        known = len(self.session.log)
        try:
            change()
        except Exception:
            self._reopen()
            self.check(known)
            raise

    def _reopen(self) -> None:
        """Read the run again."""
        self._open(self.session)

    def _open(self, old: EditSession | None) -> None:
        """Read the run. The encoder stays loaded if it is still the same run."""
        self.session = EditSession(self.folder)
        state = self.session.state
        state.reader = old.state.reader if old and old.run == self.session.run else SharedReader(state.reader)
        self.session.working.embed = state.reader.embed
        self.facts = reading.read_run(self.folder)
        self.suspects = reading.count_suspects(self.folder)
