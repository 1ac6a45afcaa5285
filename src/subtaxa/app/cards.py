"""The questions of `subtaxa ask`, one card at a time, and what the answers have changed."""

from __future__ import annotations

from typing import Any

from subtaxa.app.workbench import ConflictError, Workbench
from subtaxa.report.formatting import shorten
from subtaxa.taxonomy.asking import Asking
from subtaxa.taxonomy.edit_log import active_edits
from subtaxa.taxonomy.questions import Question, Side

# Characters of a text on a card.
MAX_LENGTH = 400


class Cards:
    """A series of questions about the run of a workbench. Skipped questions stay skipped until the app ends."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.asked: Question | None = None
        self._asking: Asking | None = None
        self._log_length = -1
        self._skipped: set[tuple[int, int]] = set()
        self._start = bench.current().labels.copy()  # (N,)
        self._start_number = len(bench.current().taxonomy)

    def card(self) -> dict[str, Any]:
        """The next question, or none, and what has changed since the app was opened."""
        with self.bench.lock:
            state = self.bench.current()
            asking = self._current_asking()
            self.asked = asking.next()
            log = active_edits(self.bench.session.log)
            same_texts = len(state.labels) == len(self._start)
            return {
                "edits": len(self.bench.session.log),
                "question": None if self.asked is None else _shown(self.asked),
                "left": asking.left_to_ask(),
                "answers": sum(edit["do"] == "answer" for edit in log),
                "before": self._start_number,
                "now": len(state.taxonomy),
                "moved": int((state.labels != self._start).sum()) if same_texts else None,
                "last": log[-1]["says"] if log and log[-1]["do"] == "answer" else None,
            }

    def answer(self, known: int, nodes: list[int], same: bool | None) -> None:
        """Take the answer to the question about these nodes: one category, two, or None to skip it."""
        with self.bench.lock:
            self.bench.check(known)
            asking, asked = self._current_asking(), self.asked
            if asked is None or list(asked.nodes) != nodes:
                raise ConflictError("another question is being asked now, so nothing was changed: answer that one")
            edit = asking.answer(asked, same)
            if edit is None:
                self._skipped.add(asked.nodes)
                return
            try:
                self.bench.add(edit)
            except BaseException:
                self._log_length = -1  # The answer counts only if it is in the log.
                raise
            self._log_length = len(self.bench.session.log)

    def _current_asking(self) -> Asking:
        session = self.bench.session
        if self._asking is None or self._log_length != len(session.log) or self._asking.working is not session.working:
            self._asking = Asking(session.working, session.log)
            self._asking.questioner.skipped |= self._skipped
            self._log_length = len(session.log)
        return self._asking


def _shown(question: Question) -> dict[str, Any]:
    return {
        "nodes": list(question.nodes),
        "label": shorten(question.label, 120),
        "doubt": round(question.doubt, 2),
        "sides": [_side(question.left), _side(question.right)],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": shorten(side.name, 120),
        "size": side.size,
        "texts": [shorten(text, MAX_LENGTH) for text in side.texts],
    }
