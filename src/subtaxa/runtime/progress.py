"""Progress of long steps: a live bar on a terminal, plain lines elsewhere, JSON for programs, nothing when quiet."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, TextIO

from subtaxa.runtime.terminal import printable

# The time between two plain lines of one step.
LINE_SECONDS = 10.0

# The time between two lines of JSON of one step.
JSON_SECONDS = 0.2

# If this variable is "json", progress is written as JSON lines.
VARIABLE = "SUBTAXA_PROGRESS"

# A finished step gets a plain line if it took longer than this.
SLOW_SECONDS = 2.0


class Step:
    """A step in progress. Subclasses show it."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.begun = name, total, 0, time.monotonic()

    def skip(self, count: int) -> None:
        """Leave out work that an earlier run has done. It must not affect the estimate of the remaining time."""
        self.total -= count

    def advance(self, count: int = 1) -> None:
        """Report that `count` more items are done."""
        self.done += count

    def note(self, text: str) -> None:
        """Show a few words about the current state, such as the loss."""

    @property
    def seconds(self) -> float:
        """The time since the step began."""
        return time.monotonic() - self.begun


class Progress:
    """Shows nothing. Subclasses show the steps."""

    is_shown: ClassVar[bool] = False

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}

    @contextmanager
    def step(self, name: str, total: int = 0) -> Iterator[Step]:
        """Show one step, and keep its duration in `timings` under its name."""
        step = self._open(name, total)
        try:
            yield step
        finally:
            self.timings[name] = round(self.timings.get(name, 0.0) + step.seconds, 3)
            self._close(step)

    def say(self, line: str) -> None:
        """Show a line of text."""

    def _open(self, name: str, total: int) -> Step:
        return Step(name, total)

    def _close(self, step: Step) -> None:
        pass


class _LineStep(Step):
    def __init__(self, name: str, total: int, stream: TextIO) -> None:
        super().__init__(name, total)
        self.stream, self.words, self.said = stream, "", time.monotonic()

    def advance(self, count: int = 1) -> None:
        super().advance(count)
        if time.monotonic() - self.said > LINE_SECONDS and self.total:
            self.said = time.monotonic()
            left = self.seconds / max(1, self.done) * max(0, self.total - self.done)
            words = f", {self.words}" if self.words else ""
            percent = min(100, 100 * self.done // self.total)
            line = f"{self.name}: {percent} %, about {duration(left)} left{words}"
            _write(self.stream, line)

    def note(self, text: str) -> None:
        self.words = text


def _write(stream: TextIO, line: str) -> None:
    """Write a line at once. Ray's workers would show the output of `print` twice."""
    stream.write(f"{printable(line)}\n")
    stream.flush()


class LineProgress(Progress):
    """Plain lines, for pipes, logs and CI."""

    is_shown = True

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self.stream = stream or sys.stderr

    def say(self, line: str) -> None:
        _write(self.stream, line)

    def _open(self, name: str, total: int) -> Step:
        return _LineStep(name, total, self.stream)

    def _close(self, step: Step) -> None:
        if step.seconds > SLOW_SECONDS:
            self.say(f"{step.name}: {duration(step.seconds)}")


class _JsonStep(Step):
    def __init__(self, name: str, total: int, stream: TextIO) -> None:
        super().__init__(name, total)
        self.stream, self.said = stream, 0.0
        self._tell()

    def advance(self, count: int = 1) -> None:
        super().advance(count)
        if time.monotonic() - self.said > JSON_SECONDS:
            self._tell()

    def _tell(self) -> None:
        self.said = time.monotonic()
        left = self.seconds / self.done * max(0, self.total - self.done) if self.done and self.total else None
        told = {
            "step": self.name,
            "done": self.done,
            "total": self.total,
            "left": None if left is None else round(left),
        }
        _write(self.stream, json.dumps(told))


class JsonProgress(Progress):
    """One JSON object per line, for a program that runs a command."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self.stream = stream or sys.stderr

    def say(self, line: str) -> None:
        _write(self.stream, json.dumps({"say": line}))

    def _open(self, name: str, total: int) -> Step:
        return _JsonStep(name, total, self.stream)


class RichProgress(Progress):
    """A live bar, for a terminal."""

    is_shown = True

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console

        self.console = Console(stderr=True)

    def say(self, line: str) -> None:
        self.console.print(printable(line), markup=False, highlight=False)

    def _open(self, name: str, total: int) -> Step:
        return _BarStep(name, total, self.console)

    def _close(self, step: Step) -> None:
        assert isinstance(step, _BarStep)  # noqa: S101
        step.bar.stop()
        if step.seconds > SLOW_SECONDS:
            self.say(f"{step.name}: {duration(step.seconds)}")


class _BarStep(Step):
    def __init__(self, name: str, total: int, console: object) -> None:
        from rich import progress as rich

        super().__init__(name, total)
        columns = [
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.TaskProgressColumn(),
            rich.TimeRemainingColumn(),
            rich.TextColumn("{task.fields[words]}", markup=False),
        ]
        self.bar = rich.Progress(*columns, console=console, transient=True)  # type: ignore[arg-type]
        self.task = self.bar.add_task(printable(name), total=total or None, words="")
        self.bar.start()

    def skip(self, count: int) -> None:
        super().skip(count)
        self.bar.update(self.task, total=self.total)

    def advance(self, count: int = 1) -> None:
        super().advance(count)
        self.bar.update(self.task, advance=count)

    def note(self, text: str) -> None:
        self.bar.update(self.task, words=printable(text))


def progress_for(*, quiet: bool) -> Progress:
    """A bar on a terminal, plain lines elsewhere, JSON if the environment asks for it, nothing if quiet."""
    if quiet:
        return Progress()
    if sys.stderr is None:  # The shell has closed it.
        return Progress()
    if os.environ.get(VARIABLE) == "json":
        return JsonProgress()
    return RichProgress() if sys.stderr.isatty() else LineProgress()


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
