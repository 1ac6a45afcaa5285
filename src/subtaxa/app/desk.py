"""What the start page works with: a folder, the runs in it, a dropped file and one job."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from subtaxa.app import jobs
from subtaxa.app.run_app import run_app
from subtaxa.app.runs_here import runs_below
from subtaxa.app.uploads import Uploads, look_into
from subtaxa.app.workbench import Workbench
from subtaxa.errors import InputError
from subtaxa.report.compare_page import render_comparison
from subtaxa.runs.compare_runs import compare_runs


class Desk:
    """Its methods may be called from several threads: one works at a time."""

    def __init__(self, place: Path) -> None:
        self.place, self.uploads, self.lock = place, Uploads(), threading.RLock()
        self.job: jobs.Job | None = None
        self.keys: list[Path] = []  # the folder of each run that was listed; its place in the list is its address
        self.open: dict[int, tuple[Workbench, Starlette]] = {}

    def key(self, folder: Path) -> int:
        """The address of a run."""
        with self.lock:
            if folder not in self.keys:
                self.keys.append(folder)
            return self.keys.index(folder)

    def view(self) -> dict[str, Any]:
        """The runs and the job, for the page."""
        with self.lock:
            busy = None if self.job is None or not _is_active(self.job) else self.job.run
            runs = [
                {
                    "key": self.key(run.folder),
                    "folder": str(run.folder.relative_to(self.place)),
                    "source": run.source,
                    "texts": run.texts,
                    "labels": run.labels,
                    "created": run.created,
                    "finished": run.finished,
                    "can_resume": not run.finished and jobs.can_resume(run.folder),
                }
                for run in runs_below(self.place)
                if run.folder != busy
            ]
            return {"place": str(self.place), "runs": runs, "job": self.job_view()}

    def job_view(self) -> dict[str, Any] | None:
        """The progress of the job, if there is one."""
        with self.lock:
            if self.job is None:
                return None
            folder = str(self.job.run.relative_to(self.place))
            return {**self.job.view(), "folder": folder, "key": self.key(self.job.run)}

    def discover(self, upload: int, asked: dict[str, Any]) -> None:
        """Start to find categories in the dropped file."""
        text, label = asked["text"], asked["label"]
        with self.lock:
            self._check_free()
            columns = look_into(self.uploads.get(upload))["columns"]
            for name in (text, label):
                if name is not None and columns.count(name) != 1:
                    raise InputError("the columns are not clear: choose one of the listed columns for each")
            if text == label:
                raise InputError("the text and the label are the same column: choose two different ones")
            self.job = jobs.begin(self.place, self.uploads.get(upload), asked)
            self.uploads.last = None

    def resume(self, key: int) -> None:
        """Continue a run that was stopped."""
        with self.lock:
            self._check_free()
            folder = self.keys[key] if 0 <= key < len(self.keys) else None
            if folder is None or not jobs.can_resume(folder):
                raise InputError("this run cannot be continued here: add --resume to its command in a terminal")
            self.job = jobs.Job(folder.parent, resume=True)

    def stop(self) -> None:
        """Stop the job, if there is one. It can be continued."""
        with self.lock:
            if self.job is not None:
                self.job.stop()

    def app_of(self, key: int) -> Starlette:
        """The app of a listed run. The run is read when it is first asked for."""
        with self.lock:
            if key not in self.open:
                if not 0 <= key < len(self.keys):
                    raise InputError("there is no such run: go back to the list of runs")
                bench = Workbench(self.keys[key])
                self.open[key] = bench, run_app(bench, home=True)
            return self.open[key][1]

    def comparison(self, a: int, b: int) -> str:
        """The page that compares two listed runs."""
        with self.lock:
            if not all(0 <= key < len(self.keys) for key in (a, b)):
                raise InputError("there is no such run: go back to the list of runs")
            one, other = (self.keys[key] for key in (a, b))
        names = (str(folder.relative_to(self.place)) for folder in (one, other))
        return render_comparison(compare_runs(one, other), *names, home=True)

    def close(self) -> None:
        """End the job, bring the runs up to date and remove the dropped file."""
        if self.job is not None:
            self.job.close()
        self.uploads.close()
        for bench, _ in self.open.values():
            bench.close()

    def _check_free(self) -> None:
        if self.job is not None and _is_active(self.job):
            raise InputError("another file is being worked on: wait until it is finished, or stop it")


def _is_active(job: jobs.Job) -> bool:
    return job.view()["state"] in ("running", "stopping")
