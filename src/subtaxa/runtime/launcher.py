"""Whether a launcher such as torchrun started several processes with this command. Nothing heavy is imported here."""

from __future__ import annotations

import os


def launched() -> bool:
    """Whether a launcher started several processes with this command."""
    return {"RANK", "MASTER_ADDR"} <= os.environ.keys() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def first() -> bool:
    """Whether this process is the one that reads, writes and prints."""
    return not launched() or os.environ["RANK"] == "0"
