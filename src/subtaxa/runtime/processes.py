"""Several processes as one: a thin layer over torch.distributed. In a process of its own, nothing here does anything.

`torchrun` and `accelerate launch` start every process with the same command. The first one (rank 0) reads, clusters and
writes; the others wait for their part of the training (engines/torchrun.py) and leave when it is over. Ray Train's
workers have been joined by Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from subtaxa.runtime.launcher import launched

Item = TypeVar("Item")
PATIENCE = timedelta(days=2)  # the others wait while the first reads all texts; a process that died is noticed at once


def processes_here() -> int:
    """How many processes share this machine's memory."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if dist.is_initialized() else 1


@contextmanager
def group() -> Iterator[None]:
    """While open, the processes work together; Ray opens the group of its workers itself."""
    if not launched() or dist.is_initialized():
        yield
        return
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    try:
        yield
    finally:
        dist.destroy_process_group()


def processes() -> int:
    """How many processes work together at present."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def share(items: Sequence[Item]) -> Sequence[Item]:
    """This process's part of some work."""
    return items[rank() :: processes()]


def exchange(out: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Fill in the rows (n,) of `out` that the others have worked on, where `share(rows)` were this process's."""
    for owner in range(processes()) if processes() > 1 else ():
        of_owner = rows[owner :: processes()]
        if of_owner:
            where = torch.cat(list(of_owner))
            part = out[where]
            dist.broadcast(part, owner)
            out[where] = part
    return out


def from_first(work: Callable[[], Item]) -> Item:
    """What the first process makes of some work, for all of them; its error, too, is everybody's."""
    if processes() == 1:
        return work()
    sent: list[Any] = [None, None]
    if rank() == 0:
        try:
            sent[0] = work()
        except Exception as error:
            sent[1] = error
    dist.broadcast_object_list(sent, src=0, device=torch.device("cpu"))
    if sent[1] is not None:
        raise sent[1]
    return sent[0]


def mean(values: Tensor) -> Tensor:
    """The mean of the processes' values."""
    if processes() > 1:
        dist.all_reduce(values)
        values /= processes()
    return values


def anyone(true: bool) -> bool:
    """Whether it is true in any process."""
    if processes() == 1:
        return true
    flag = torch.tensor(int(true))
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)
