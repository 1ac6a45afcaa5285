"""Discover in the background: a process of its own, whose progress can be asked for and which can be stopped.

A new job gets a folder that keeps everything together: the user's file, what was asked for (discover.json), and the
run in the folder `run`. With these, a stopped run can be continued later.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from subtaxa.app.uploads import Upload
from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runtime import json_files
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.progress import VARIABLE
from subtaxa.settings import PRESETS

REQUEST = "discover.json"
# What can be asked for. The encoder is a folder; without one, the preset's is used.
ASKED = {"text": str, "label": (str, None), "preset": str, "categories": str, "encoder": str}
# Seconds that a stopped process gets. It gives itself eight.
PATIENCE = 12.0
# Lines of its messages that are kept.
MAX_LINES = 20


class Job:
    """One process that runs discover, and what it last said."""

    def __init__(self, home: Path, *, resume: bool) -> None:
        self.home, self.run, self._lock = home, home / "run", threading.Lock()
        self.state, self.problem = "running", ""
        self.step: dict[str, Any] = {}
        self.lines: list[str] = []
        self._process = subprocess.Popen(  # noqa: S603 - our own command; every argument is checked
            _command(home, self.run, resume=resume),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, VARIABLE: "json"},
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def view(self) -> dict[str, Any]:
        """What the page shows."""
        with self._lock:
            return {"state": self.state, "problem": self.problem, "lines": list(self.lines), **self.step}

    def stop(self) -> None:
        """Ask the process to stop. It writes a checkpoint first; `close` waits for that."""
        if self._process.poll() is None:
            with self._lock:
                self.state = "stopping"
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Stop the process and wait for its end."""
        self.stop()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._watcher.join(PATIENCE)

    def _watch(self) -> None:
        assert self._process.stderr is not None  # noqa: S101
        for line in self._process.stderr:
            with self._lock:
                self._hear(line.strip())
        code = self._process.wait()
        with self._lock:
            self.step = {}
            stopped = self.state == "stopping" or code in (128 + signal.SIGTERM, 128 + signal.SIGINT, -signal.SIGTERM)
            self.state = "finished" if code == 0 else "stopped" if stopped else "failed"

    def _hear(self, line: str) -> None:
        try:
            told = json.loads(line) if line.startswith("{") else None
        except ValueError:
            told = None
        if isinstance(told, dict) and "step" in told:
            self.step = {name: told.get(name) for name in ("step", "done", "total", "left")}
        elif isinstance(told, dict):
            self.lines = [*self.lines, str(told.get("say", ""))][-MAX_LINES:]
        elif line:
            self.problem = line.removeprefix("subtaxa: ")


def begin(place: Path, upload: Upload, asked: dict[str, Any]) -> Job:
    """Move the file into a new folder below `place`, and start. What is asked for has the shape `ASKED`."""
    _check(asked)
    home = _new_folder(place, upload.name)
    shutil.move(upload.path, home / upload.name)
    write_whole(home / REQUEST, json_files.json_text({"file": upload.name, **asked}).encode())
    return Job(home, resume=False)


def can_resume(run: Path) -> bool:
    """Whether a stopped run was started by the app, so that what was asked for is known."""
    return run.name == "run" and (run.parent / REQUEST).is_file() and (run / layout.CHECKPOINT).is_dir()


def _new_folder(place: Path, name: str) -> Path:
    """A new folder with the name of the file."""
    stem = re.sub(r"\.\w+(\.gz)?$", "", name) or "texts"
    for number in range(1, 1000):
        home = place / (stem if number == 1 else f"{stem}-{number}")
        try:
            home.mkdir()
        except FileExistsError:
            continue
        return home
    raise InputError(f"there are too many folders {stem!r} in {str(place)!r}: move some elsewhere")


def _check(asked: dict[str, Any]) -> None:
    """Refuse what must not reach the command line, as it may come from a stranger."""
    if asked["preset"] not in PRESETS:
        raise InputError(f"there is no preset {asked['preset'][:40]!r}: use {', '.join(PRESETS)}")
    if asked["encoder"] and not Path(asked["encoder"]).expanduser().is_dir():  # A name would be downloaded.
        raise InputError(f"the encoder {asked['encoder'][:80]!r} is no folder: give the folder of a model")
    if any("\0" in (value or "") for value in asked.values()):
        raise InputError("a name has a NUL character: rename the column")


def _command(home: Path, run: Path, *, resume: bool) -> list[str]:
    """The command line. What was asked for is checked again: the file may come from a stranger."""
    if (home / REQUEST).is_symlink():
        raise InputError(f"{str(home / REQUEST)!r} is damaged (it is a link): drop the file again")
    try:
        asked = json_files.read_json(home / REQUEST)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(home / REQUEST)!r} is damaged ({error}): drop the file again") from error
    wrong = json_files.difference(asked, {"file": str, **ASKED})
    if wrong or Path(asked["file"]).name != asked["file"] or (home / asked["file"]).is_symlink():
        raise InputError(f"{str(home / REQUEST)!r} is damaged: drop the file again")
    _check(asked)
    given = [f"--{name}={asked[name]}" for name in ASKED if asked[name]]
    return [
        sys.executable,
        "-P",  # A module in the current folder is never imported.
        "-m",
        "subtaxa",
        "discover",
        str((home / asked["file"]).absolute()),
        f"--out={run.absolute()}",
        *given,
        *(["--resume"] if resume else []),
    ]
