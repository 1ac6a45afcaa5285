"""Ctrl-C and SIGTERM that never tear a training step: a signal inside one waits for its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class Stopped(KeyboardInterrupt):
    """The user or the system asked the program to stop. `signal_number` gives the exit code 128 + n."""

    def __init__(self, signal_number: int = signal.SIGINT) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number


class Interrupts:
    """While active, turns both signals into `Stopped`. Outside the main thread it leaves the signals alone."""

    def __init__(self) -> None:
        self._previous: dict[int, object] = {}
        self._inside = False
        self.pending: int | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._inside and self.pending is None:
            self.pending = number
        else:
            raise Stopped(number)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """A stretch that a signal must not interrupt; a second signal does."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
