"""New texts for a run: assigned in the background, shown beside the old ones, and kept on request."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from subtaxa.app.uploads import Uploads, own_name
from subtaxa.app.workbench import Workbench
from subtaxa.clustering.outliers import is_outlier
from subtaxa.data.kept_columns import NO_COLUMNS
from subtaxa.data.new_texts import read_new_texts
from subtaxa.data.values import CleanTexts
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.report.formatting import shorten
from subtaxa.runs import reading
from subtaxa.runs.edit_session import WAIT
from subtaxa.runs.load import load_run
from subtaxa.runs.save import save_run
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.assignment import assign
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.fitted_state import FittedState
from subtaxa.taxonomy.update import update

# Texts that are assigned at a time. In between, others may use the encoder.
CHUNK = 256
# Texts of a file, and texts that the page shows.
MAX_TEXTS, MAX_SHOWN = 200_000, 1000
LENGTH = 400


class NewTexts:
    """One file of new texts at a time. `state` is none, working, ready, keeping, kept or failed."""

    def __init__(self, bench: Workbench) -> None:
        self.bench, self.uploads, self._lock = bench, Uploads(), threading.RLock()
        self._forget()

    def view(self) -> dict[str, Any]:
        """How far the work is, and what was found."""
        with self._lock:
            done, total = len(self._found), len(self._texts)
            left = round((time.monotonic() - self._begun) * (total - done) / done) if done else None
            shown = zip(self._texts, self._found[:MAX_SHOWN], strict=False)
            return {
                "state": self.state,
                "problem": self.problem,
                "name": self.name,
                "done": done,
                "total": total,
                "left": left,
                "counts": list(Counter(found[0] for found in self._found).items()),
                "outliers": sum(found[2] for found in self._found),
                "texts": [[shorten(text, LENGTH), *found] for text, found in shown],
                "proposed": self.proposed,
            }

    def assign(self, upload: int, column: str) -> None:
        """Begin to assign the texts in a column of the dropped file."""
        with self._lock:
            self._check_free()
            self._forget()
            file = self.uploads.get(upload)
            with own_name(file):
                texts, _, self._columns = read_new_texts(file.path, column)
            if len(texts) > MAX_TEXTS:
                raise InputError(f"the file has more than {MAX_TEXTS:,} texts: run subtaxa update in a terminal")
            self.name, self._texts, self.state = file.name, CleanTexts(texts), "working"
            self._begun = time.monotonic()
            self._start(self._assign)

    def keep(self) -> None:
        """Begin to add the assigned texts to the run."""
        with self._lock:
            if self.state != "ready":
                raise InputError("there are no assigned texts: drop a file first")
            self.state = "keeping"
            self._start(self._keep)

    def discard(self) -> None:
        """Forget the texts, also while they are being assigned."""
        with self._lock:
            if self.state == "keeping":
                raise InputError("the texts are being added to the run: wait until that is done")
            self._forget()

    def _forget(self) -> None:
        self.state, self.problem, self.name, self._begun = "none", "", "", 0.0
        self._texts, self._columns = CleanTexts(), NO_COLUMNS
        self._found: list[tuple[int, int, bool]] = []  # of each text: category, confidence in percent, outlier
        self.proposed: list[dict[str, Any]] = []

    def _check_free(self) -> None:
        if self.state in ("working", "keeping"):
            raise InputError("another file is being worked on: wait until it is finished, or stop it")

    def _start(self, work: Any) -> None:
        threading.Thread(target=self._guarded, args=(work, self._texts), daemon=True).start()

    def _guarded(self, work: Any, texts: CleanTexts) -> None:
        """Carry out some work. A problem is one sentence."""
        try:
            work(texts)
        except (SubtaxaError, OSError) as error:
            with self._lock:
                self.state, self.problem = "failed", str(error)

    def _assign(self, texts: CleanTexts) -> None:
        state = self.bench.current()
        threshold = state.outlier_threshold  # (K,)
        for begin in range(0, len(texts), CHUNK):
            found = assign(state, CleanTexts(texts[begin : begin + CHUNK]), None, Progress())
            outlier = is_outlier(found.features, found.category_index, state.clusters, threshold)
            ids = state.category_ids[found.category_index].tolist()
            percent = np.rint(100 * found.confidence).astype(int).tolist()
            with self._lock:
                if self._texts is not texts:  # They were discarded.
                    return
                self._found += zip(ids, percent, outlier.tolist(), strict=True)
        with self._lock:
            self.state = "ready"

    def _keep(self, texts: CleanTexts) -> None:
        folder = self.bench.folder
        with exclusive(folder, WAIT):
            command = str(reading.read_run(folder)["command"])
            state = load_run(folder)
            updated = update(state, texts, None, Progress(), self._columns)
            save_run(state, folder, overwrite=True, command=command)
        with self._lock:
            self.state = "kept"
            self.proposed = [_proposal(state, category) for category in updated.proposed]


def _proposal(state: FittedState, category: Category) -> dict[str, Any]:
    """A proposed category, and the category that its texts would join if it is refused."""
    others = [c.id for c in state.taxonomy if c.parent == category.parent and c.id != category.id]
    place = {c.id: i for i, c in enumerate(state.taxonomy)}
    centroids = state.clusters.centroids
    near = {i: float(centroids[place[i]] @ centroids[place[category.id]]) for i in others}
    return {"id": category.id, "instead": max(near, key=lambda i: near[i]) if near else None}
