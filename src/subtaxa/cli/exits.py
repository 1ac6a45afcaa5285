"""How a command ends: its exit code, and one sentence about what went wrong or how to continue."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import NoReturn

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.terminal import say

RESUME = " (add --resume to the same command to continue, or --resume --time-limit 0s to finish now)"
STOPPED_NOTES = {
    "discover": RESUME,
    "demo": RESUME,
    "bench": " (run the same command again to continue)",
    "name": " (the names found so far are kept)",
}


def watch_signals() -> None:
    """Turn SIGTERM and SIGINT into `Stopped`. SIGINT stays ignored where a shell ignores it for background jobs."""
    Stopped.last_signal = None
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped(number)


def stopped(command: str) -> int:
    """Say that the command was stopped and how to continue. Returns the exit code after a signal."""
    say(f"subtaxa: stopped{STOPPED_NOTES.get(command, '')}", sys.stderr)
    return 128 + (Stopped.last_signal or signal.SIGINT)


def failed(error: Exception, command: str) -> int | None:
    """Report an error that a user can do something about. Returns its exit code, or None for a bug in subtaxa."""
    if isinstance(error, SubtaxaError):
        return _fail(str(error))
    if isinstance(error, BrokenPipeError):  # The reader of our output has closed it, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    if isinstance(error, OSError):
        return _fail(_about_system(error, command))
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # The words are torch's.
        return _fail("there is not enough memory: close other programs, lower --batch-size or use fewer texts")
    return None


def _fail(sentence: str) -> int:
    say(f"subtaxa: {' '.join(sentence.split())}", sys.stderr)
    return 2


def _about_system(error: OSError, command: str) -> str:
    """A system error as one sentence that ends with a remedy."""
    what = f"cannot use {str(error.filename)!r}" if error.filename else "cannot write"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    full = full or any(words in str(error) for words in ("No space left", "File too large", "quota exceeded"))
    again = "add --resume to the same command" if command in ("discover", "demo") else "run the same command again"
    remedy = f"free some space, then {again}" if full else "check the path and its permissions"
    return f"{what}: {error.strerror or error}; {remedy}"
