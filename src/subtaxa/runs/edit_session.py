"""A series of edits of one run: each edit is saved at once, the files that show them are written at the end."""

from __future__ import annotations

import hashlib
from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runs import layout, reading
from subtaxa.runs.load import load_run
from subtaxa.runs.manifest import digest_of, digest_of_log
from subtaxa.runs.save import save_edits, save_log
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.edit_log import Edit, apply_new, log_entry, write_log
from subtaxa.taxonomy.editing import apply_log, take_over, working_taxonomy
from subtaxa.taxonomy.edits import redo, undo
from subtaxa.taxonomy.fitted_state import FittedState

# Seconds to wait for another command that uses the run.
WAIT = 20.0


class EditSession:
    """Appends each edit to the log of the run. If another command changes the run meanwhile, the session ends."""

    def __init__(self, folder: Path) -> None:
        reading.read_run(folder)
        self.folder, self.run, self.written = folder, digest_of(folder / layout.RUN), {digest_of_log(folder)}
        self.state = load_run(folder)
        self.working, self.log = working_taxonomy(self.state), list(self.state.edits)
        self.text = write_log(self.log)

    def add(self, edit: Edit) -> None:
        """Apply an edit and write it to the log of the run."""
        self._append(apply_new(self.working, edit, self.log))

    def undo(self) -> None:
        """Undo the last edit and write that to the log of the run."""
        self._replay_with(undo(self.log))

    def redo(self) -> None:
        """Make the last undone edit once more and write that to the log of the run."""
        self._replay_with(redo(self.log))

    def current(self) -> FittedState:
        """The state of the run with all edits so far."""
        if len(self.state.edits) != len(self.log):
            take_over(self.state, self.working, self.log)
        return self.state

    def is_up_to_date(self) -> bool:
        """Whether the run on disk is as this session found or wrote it."""
        facts = self.folder / layout.RUN
        return facts.is_file() and digest_of(facts) == self.run and digest_of_log(self.folder) in self.written

    def finish(self) -> Taxonomy:
        """Update all files of the run to its log, and return the resulting categories."""
        if self.log:
            with exclusive(self.folder, WAIT):
                self._check()
                apply_log(self.state, self.log)
                save_edits(self.state, self.folder)
        return self.state.taxonomy

    def _replay_with(self, edit: Edit) -> None:
        """Add an edit to the log and replay the whole log: an undone edit names ids that a new one may not."""
        entry = log_entry(edit, self.log)
        self.working = working_taxonomy(self.state, [*self.log, entry])
        self._append(entry)

    def _append(self, entry: Edit) -> None:
        """Add an entry to the log, and write the log to the run folder."""
        self.log.append(entry)
        self.text += write_log([entry])
        with exclusive(self.folder, WAIT):
            self._check()
            self.written.add(hashlib.sha256(self.text.encode()).hexdigest())
            save_log(self.state, self.text, self.folder)

    def _check(self) -> None:
        """Refuse a run whose log on disk is not one that this session found or wrote."""
        reading.read_run(self.folder)
        if not self.is_up_to_date():
            raise InputError(
                f"{str(self.folder)!r} was changed by another command in the meantime: repeat the command to continue"
            )
