"""Whether a launcher such as torchrun started this command in several processes. This module imports nothing slow."""

from __future__ import annotations

import os


def started_by_launcher() -> bool:
    """Whether a launcher started this command in several processes."""
    return {"RANK", "MASTER_ADDR"} <= os.environ.keys() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first_process() -> bool:
    """Whether this is the process that reads, writes and prints."""
    return not started_by_launcher() or os.environ["RANK"] == "0"
