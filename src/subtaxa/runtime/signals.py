"""Handles Ctrl-C and SIGTERM: a signal never interrupts a training step, which is completed first."""

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

# The process ends at most this many seconds after a signal.
GRACE_SECONDS = 8.0


class Stopped(KeyboardInterrupt):
    """The user or the system asked the program to stop. The exit code is 128 + `signal_number`.

    A library that is interrupted may replace it by an error of its own, so `last_signal` remembers the signal.
    """

    last_signal: ClassVar[int | None] = None

    def __init__(self, signal_number: int = signal.SIGINT) -> None:
        Stopped.last_signal = signal_number
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number


class Interrupts:
    """Turns both signals into `Stopped` while it is active. It has no effect outside the main thread."""

    def __init__(self) -> None:
        self._previous: dict[int, object] = {}
        self._in_shield = False
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
        if self._in_shield and self.pending is None:
            self.pending = number
        else:
            raise Stopped(number)

    def check(self) -> None:
        """Raise `Stopped` if a signal has arrived."""
        if self.pending is not None:
            raise Stopped(self.pending)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """A block that the first signal does not interrupt. A second signal does."""
        self._in_shield = True
        try:
            yield
        finally:
            self._in_shield = False


@contextmanager
def force_exit_after_signal(message: str, seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """End the process, with a message, if this block has not ended within `seconds` after a signal.

    Python handles a signal only between two of its own instructions, and a library call can take minutes. All files are
    written atomically, so the process may end at any moment.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # Each signal's number is written there.
    threading.Thread(target=_exit_when_late, args=(reading, message, seconds), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)  # This ends the thread.


def _exit_when_late(reading: int, message: str, seconds: float) -> None:
    number, until = 0, float("inf")
    while True:
        left = None if number == 0 else max(0.0, until - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            os.write(2, f"{message}\n".encode())
            os._exit(128 + number)
        received = os.read(reading, 1)
        if not received:
            os.close(reading)
            return
        if number == 0 and received[0] in (signal.SIGINT, signal.SIGTERM):
            number, until = received[0], time.monotonic() + seconds
