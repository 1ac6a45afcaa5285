"""How a command ends: its exit code, and one sentence on what went wrong or how to go on."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import NoReturn

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.terminal import say

RESUME = " (add --resume to the same command to go on)"


def watch_signals() -> None:
    """Turn both signals into `Stopped`, unless Ctrl-C is ignored, as it is in the background of some shells."""
    Stopped.came = None
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped(number)


def stopped(command: str) -> int:
    """The exit code after a signal."""
    goes_on = " (the same command goes on from here)"
    again = {"discover": RESUME, "demo": RESUME, "bench": goes_on, "name": " (the names so far are kept)"}
    say(f"subtaxa: stopped{again.get(command, '')}", sys.stderr)
    return 128 + (Stopped.came or signal.SIGINT)


def failed(error: Exception, command: str) -> int | None:
    """The exit code after an error that a user can do something about; None for one of ours."""
    if isinstance(error, SubtaxaError):
        return _fail(str(error))
    if isinstance(error, BrokenPipeError):  # the reader of our output has gone, as in `subtaxa info run | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    if isinstance(error, OSError):
        return _fail(_about_system(error, command))
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # the second is torch's
        return _fail("there is not enough memory: close other programs, or use a smaller --batch-size or fewer texts")
    return None


def _fail(sentence: str) -> int:
    say(f"subtaxa: {' '.join(sentence.split())}", sys.stderr)
    return 2


def _about_system(error: OSError, command: str) -> str:
    """A system error as a sentence with a remedy."""
    what = f"cannot use {str(error.filename)!r}" if error.filename else "cannot write"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    full = full or any(words in str(error) for words in ("No space left", "File too large", "quota exceeded"))
    again = "add --resume to the same command" if command in ("discover", "demo") else "type the same command again"
    remedy = f"free some space, then {again}" if full else "check the path and its permissions"
    return f"{what}: {error.strerror or error}; {remedy}"
