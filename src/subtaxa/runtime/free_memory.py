"""How much memory this process can still allocate."""

from __future__ import annotations

import psutil

from subtaxa.runtime.control_groups import own_groups

# The limit of a control group, what it uses, and what of that are cached files, by the version of control groups.
FILES = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available() -> int:
    """The number of bytes that the machine, the container and the user's limits still allow, whichever is least."""
    return max(0, min([int(psutil.virtual_memory().available), *_left_in_groups(), *_left_in_address_space()]))


def gigabytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:.1f} GB"


def _left_in_groups() -> list[int]:
    """What the control groups of this process leave, in versions 1 and 2. Cached files count as free memory."""
    found = []
    for version, group in own_groups("memory"):
        limit, used, cached = FILES[version]
        try:
            lines = (group / "memory.stat").read_text().splitlines()
            cache = next((int(line.split()[1]) for line in lines if line.startswith(f"{cached} ")), 0)
            left = int((group / limit).read_text()) - int((group / used).read_text()) + cache
        except (OSError, ValueError):  # There is no such group, or its limit is "max", which means none.
            continue
        found.append(left)
    return found


def _left_in_address_space() -> list[int]:
    """What `ulimit -v` leaves of the address space."""
    try:
        import resource
    except ImportError:  # The module does not exist on Windows.
        return []
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if limit == resource.RLIM_INFINITY else [limit - int(psutil.Process().memory_info().vms)]
