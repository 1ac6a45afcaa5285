"""How many cores this process may use, and how the threads of the numerical libraries share them with other programs.

This module imports nothing slow, because its variables must be set before torch and NumPy are loaded.
"""

from __future__ import annotations

import math
import os
from collections.abc import MutableMapping
from pathlib import Path

from subtaxa.runtime.control_groups import own_groups

# A thread that waits for others sleeps after some ten microseconds (a millisecond with LLVM). By default it keeps its
# core busy for milliseconds, even if other programs need that core. The variables are those of GNU's OpenMP, LLVM's and
# OpenBLAS.
PATIENT = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1", "OPENBLAS_THREAD_TIMEOUT": "16"}


def cores() -> int:
    """The number of cores that this process may use: those of its CPU affinity, or fewer if a quota limits it."""
    from joblib import cpu_count  # It knows the affinity on every system, and a limit for its own kind of workers.

    return max(1, min(cpu_count(), cpu_quota() or cpu_count()))


def cpu_quota() -> int | None:
    """The number of cores that the quotas of control groups leave, rounded up, or None without a quota.

    Every group from that of the process to the top can have a quota, and the smallest one counts.
    """
    quotas = [_quota(version, group) for version, group in own_groups("cpu")]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(version: int, group: Path) -> int | None:
    """The number of cores that a group may use: microseconds per period, as in `150000 100000`."""
    names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    try:
        quota, period = (int(number) for name in names for number in (group / name).read_text().split())
    except (OSError, ValueError):  # There is no file, or its limit is "max", which means none.
        return None
    return max(1, math.ceil(quota / period)) if quota > 0 and period > 0 else None


def share_cores(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let the threads of the libraries sleep when they wait, and let them be no more than a quota allows.

    Variables that the user has set stay as they are. Nothing changes in libraries that are already loaded.
    """
    for name, value in PATIENT.items():
        environment.setdefault(name, value)
    quota = cpu_quota()
    if quota is not None and quota < _affinity():
        environment.setdefault("OMP_NUM_THREADS", str(quota))


def _affinity() -> int:
    """The number of cores that the system may run this process on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
