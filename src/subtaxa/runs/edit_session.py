"""A series of edits of one run: each edit is saved at once, the files that show them are written at the end."""

from __future__ import annotations

from pathlib import Path

from subtaxa.errors import InputError
from subtaxa.runs import layout, reading
from subtaxa.runs.load import load_run
from subtaxa.runs.manifest import digest_of
from subtaxa.runs.save import save_edits, save_log
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.json_files import read_limited
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.edit_log import Edit, apply_new, log_entry, read_log
from subtaxa.taxonomy.editing import apply_log, working_taxonomy
from subtaxa.taxonomy.edits import undo

# Seconds to wait for another command that uses the run.
WAIT = 20.0


class EditSession:
    """Appends each edit to the log of the run. If another command changes the run meanwhile, the session ends."""

    def __init__(self, folder: Path) -> None:
        reading.read_run(folder)
        self.folder, self.run = folder, digest_of(folder / layout.RUN)
        self.state = load_run(folder)
        self.working, self.log = working_taxonomy(self.state), list(self.state.edits)

    def add(self, edit: Edit) -> None:
        """Apply an edit and write it to the log of the run."""
        self.log.append(apply_new(self.working, edit, self.log))
        self._save_log()

    def undo(self) -> None:
        """Undo the last edit and write that to the log of the run."""
        self.log.append(log_entry(undo(self.log), self.log))
        self.working = working_taxonomy(self.state, self.log)
        self._save_log()

    def finish(self) -> Taxonomy:
        """Update all files of the run to its log, and return the resulting categories."""
        if self.log:
            with exclusive(self.folder, WAIT):
                self._check()
                apply_log(self.state, self.log)
                save_edits(self.state, self.folder)
        return self.state.taxonomy

    def _save_log(self) -> None:
        with exclusive(self.folder, WAIT):
            self._check()
            save_log(self.state, self.log, self.folder)

    def _check(self) -> None:
        """Refuse a run whose log on disk is not the beginning of ours."""
        reading.read_run(self.folder)
        path = self.folder / layout.EDITS
        written = read_log(read_limited(path, "replace"), str(path)) if path.exists() else []
        if written != self.log[: len(written)] or digest_of(self.folder / layout.RUN) != self.run:
            raise InputError(
                f"{str(self.folder)!r} was changed by another command in the meantime: repeat the command to continue"
            )
