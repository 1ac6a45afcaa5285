"""The control groups of this process, by which Linux limits the memory and the cores of a container or a service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

# Where Linux shows the groups, and the list of those of this process.
CONTROL_GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def own_groups(controller: str) -> Iterator[tuple[int, Path]]:
    """The folder of each group that limits this process, with the version of its files: 2, or 1 for old systems.

    A group inside another one is limited by both. The line "0::/a/b" means the group a/b, which is inside the group a.
    """
    try:
        lines = [line.split(":", 2) for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):  # There is no such file on other systems.
        lines = []
    for version, top in ((2, CONTROL_GROUPS), (1, CONTROL_GROUPS / controller)):
        yield version, top  # In a container, its own group is at the top.
        for line in lines:
            if len(line) == 3 and line[1] in ("", controller):
                own = Path(line[2].lstrip("/"))
                yield from ((version, top / group) for group in (own, *own.parents) if group != Path())
