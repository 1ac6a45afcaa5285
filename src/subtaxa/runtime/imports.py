"""Loads large libraries a little faster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A block in which Python does not look for garbage.

    Libraries make millions of objects while they are loaded, and all of them stay. To look through them again and again
    takes an eighth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
