"""A run that is edited bit by bit for a long time: each edit is on disk at once, what shows it follows at the end."""

from __future__ import annotations

from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runs.load import load_run
from subtaxa.runs.save import save_edits, save_log
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.json_files import read_limited
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.edit_log import Edit, carry_out, numbered, read_log
from subtaxa.taxonomy.editing import apply_log, working_taxonomy

WAIT = 20.0  # seconds for another command to be done with the run


class EditSession:
    """The log grows with each edit. Should another command change the run meanwhile, then that counts and this ends."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.facts = folder, layout.read_run(folder)
        self.state = load_run(folder)
        self.working, self.log = working_taxonomy(self.state), list(self.state.edits)

    def add(self, edit: Edit) -> None:
        """Carry out an edit and write it to the run's log."""
        carry_out(self.working, edit)
        self.log.append(numbered(edit, self.log))
        with exclusive(self.folder, WAIT):
            self._check()
            save_log(self.state, self.log, self.folder)

    def finish(self) -> Taxonomy:
        """Bring all files of the run up to its log; the categories as they then are."""
        if self.log:
            with exclusive(self.folder, WAIT):
                self._check()
                apply_log(self.state, self.log)
                save_edits(self.state, self.folder)
        return self.state.taxonomy

    def _check(self) -> None:
        """The log on disk must be the beginning of ours."""
        path = self.folder / layout.EDITS
        written = read_log(read_limited(path, "replace"), str(path)) if path.exists() else []
        if written != self.log[: len(written)] or layout.read_run(self.folder) != self.facts:
            raise InputError(
                f"{str(self.folder)!r} was changed by another command meanwhile: type the same command again to go on"
            )
