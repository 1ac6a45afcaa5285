"""How much memory this process may still take."""

from __future__ import annotations

from pathlib import Path

import psutil

CONTROL_GROUPS = Path("/sys/fs/cgroup")  # where Linux tells the limits of a container


def available() -> int:
    """Bytes that this process may still take: of the machine, of its container, of what the user allowed it."""
    return max(0, min([int(psutil.virtual_memory().available), *_left_in_groups(), *_left_in_address_space()]))


def gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _left_in_groups() -> list[int]:
    """What the control groups of this process leave it, by both versions of them; what is only cached is free."""
    found = []
    for folder, limit, used, cached in (
        (CONTROL_GROUPS, "memory.max", "memory.current", "inactive_file"),
        (CONTROL_GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        for group in (folder, *_own_groups(folder)):
            try:
                lines = (group / "memory.stat").read_text().splitlines()
                cache = next((int(line.split()[1]) for line in lines if line.startswith(f"{cached} ")), 0)
                left = int((group / limit).read_text()) - int((group / used).read_text()) + cache
            except (OSError, ValueError):  # no such group, or "max": no limit
                continue
            found.append(left)
    return found


def _own_groups(folder: Path) -> list[Path]:
    """The groups that this process is in, as the system tells it: "0::/a/b" is a/b, inside a."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    names = [line.split(":", 2) for line in lines]
    paths = [Path(name[2].lstrip("/")) for name in names if len(name) == 3 and name[1] in ("", "memory")]
    return [folder / part for path in paths for part in (path, *path.parents) if part != Path()]


def _left_in_address_space() -> list[int]:
    """What `ulimit -v` leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if limit == resource.RLIM_INFINITY else [limit - int(psutil.Process().memory_info().vms)]
