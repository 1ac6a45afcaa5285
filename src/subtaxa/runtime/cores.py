"""How many cores this process may use, and how the threads of the numerical libraries share them with other programs.

This module imports nothing slow, because its variables must be set before torch and NumPy are loaded.
"""

from __future__ import annotations

import math
import os
from collections.abc import MutableMapping
from pathlib import Path

# The system's lists of control groups: the one of this process, and where the groups are mounted.
OWN_GROUP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")

# A thread that waits for others sleeps at once. By default it keeps its core busy for a while, even if other programs
# need that core. The variables are those of GNU's and LLVM's OpenMP and of OpenBLAS.
PATIENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}


def cores() -> int:
    """The number of cores that this process may use: those of its CPU affinity, or fewer if a quota limits it."""
    from joblib import cpu_count  # It knows affinity, the group at the top, and cgroup v1.

    return max(1, min(cpu_count(), cpu_quota() or cpu_count()))


def cpu_quota(own_group: Path = OWN_GROUP, groups: Path = GROUPS) -> int | None:
    """The number of cores that the quotas of cgroup v2 leave, rounded up, or None without a quota.

    Every group from that of the process to the top has a quota of its own, and the smallest one counts.
    """
    try:
        lines = own_group.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None:
        return None
    quotas = (
        _quota(group / "cpu.max") for group in (groups / own, *(groups / own).parents) if group.is_relative_to(groups)
    )
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(file: Path) -> int | None:
    """The number of cores in a file such as `150000 100000`: microseconds per period, or `max`."""
    try:
        quota, period = file.read_text(encoding="utf-8").split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # There is no file, or no limit.
        return None


def share_cores(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let the threads of the libraries sleep while they wait, and let them be no more than a quota allows.

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
