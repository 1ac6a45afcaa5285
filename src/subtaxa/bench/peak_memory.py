"""The most memory that a stretch of the program held, where the system tells."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

_PROCESS = Path("/proc/self")


class PeakMemory:
    """Counts from its making: Linux lets a process reset its high-water mark. Elsewhere the process's own peak."""

    def __init__(self) -> None:
        with suppress(OSError):
            (_PROCESS / "clear_refs").write_text("5")

    def megabytes(self) -> int | None:
        try:
            found = re.search(r"VmHWM:\s+(\d+) kB", (_PROCESS / "status").read_text())
            return int(found[1]) // 1024 if found else None
        except OSError:
            return _by_usage()


def _by_usage() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, the others kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
