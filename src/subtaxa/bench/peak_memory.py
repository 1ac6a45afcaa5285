"""The peak memory of a part of the program, where the operating system reports it."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

_PROCESS = Path("/proc/self")


class PeakMemory:
    """Peak memory since the object was made. Linux can reset its counter; elsewhere it is the process's peak."""

    def __init__(self) -> None:
        with suppress(OSError):
            (_PROCESS / "clear_refs").write_text("5")

    def megabytes(self) -> int | None:
        try:
            found = re.search(r"VmHWM:\s+(\d+) kB", (_PROCESS / "status").read_text())
            return int(found[1]) // 1024 if found else None
        except OSError:
            return _from_resource_usage()


def _from_resource_usage() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such module.
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, other systems count kilobytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
