"""How much memory this process can still allocate."""

from __future__ import annotations

from pathlib import Path

import psutil

# Where Linux shows the memory limits of a container.
CONTROL_GROUPS = Path("/sys/fs/cgroup")


def available() -> int:
    """The number of bytes that the machine, the container and the user's limits still allow, whichever is least."""
    return max(0, min([int(psutil.virtual_memory().available), *_left_in_groups(), *_left_in_address_space()]))


def gigabytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:.1f} GB"


def _left_in_groups() -> list[int]:
    """What the control groups of this process leave, in versions 1 and 2. Cached files count as free memory."""
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
            except (OSError, ValueError):  # There is no such group, or its limit is "max", which means none.
                continue
            found.append(left)
    return found


def _own_groups(folder: Path) -> list[Path]:
    """The control groups of this process. The line "0::/a/b" means the group a/b, which is inside the group a."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    names = [line.split(":", 2) for line in lines]
    paths = [Path(name[2].lstrip("/")) for name in names if len(name) == 3 and name[1] in ("", "memory")]
    return [folder / part for path in paths for part in (path, *path.parents) if part != Path()]


def _left_in_address_space() -> list[int]:
    """What `ulimit -v` leaves of the address space."""
    try:
        import resource
    except ImportError:  # The module does not exist on Windows.
        return []
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if limit == resource.RLIM_INFINITY else [limit - int(psutil.Process().memory_info().vms)]
