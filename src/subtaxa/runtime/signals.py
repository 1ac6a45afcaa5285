"""Ctrl-C and SIGTERM that never tear a training step: a signal inside one waits for its end, but not for ever."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import ClassVar

SECONDS = 8.0  # from a signal to the end of the process, at most


class Stopped(KeyboardInterrupt):
    """The user or the system asked the program to stop. `signal_number` gives the exit code 128 + n.

    A library in the middle of which it comes may raise an error of its own instead; `came` remembers the signal.
    """

    came: ClassVar[int | None] = None

    def __init__(self, signal_number: int = signal.SIGINT) -> None:
        Stopped.came = signal_number
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

    def check(self) -> None:
        """Stop here if a signal is waiting."""
        if self.pending is not None:
            raise Stopped(self.pending)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """A stretch that a signal must not interrupt; a second signal does."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False


@contextmanager
def ending_soon(message: str, seconds: float = SECONDS) -> Iterator[None]:
    """Once a signal has come, this stretch ends within `seconds`, or the process does, with the message.

    Python itself sees a signal only between two of its own instructions; deep in a library that can take minutes. What
    is on disk is whole at any moment, so then the process may as well end at once.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # where the system leaves each signal's number
    threading.Thread(target=_wait, args=(reading, message, seconds), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)  # which ends the thread


def _wait(reading: int, message: str, seconds: float) -> None:
    number, until = 0, float("inf")
    while True:
        left = None if number == 0 else max(0.0, until - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            os.write(2, f"{message}\n".encode())
            os._exit(128 + number)
        came = os.read(reading, 1)
        if not came:
            os.close(reading)
            return
        if number == 0 and came[0] in (signal.SIGINT, signal.SIGTERM):
            number, until = came[0], time.monotonic() + seconds
