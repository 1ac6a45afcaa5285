"""Processes that train together: a thin layer over torch.distributed. In a single process, nothing here has an effect.

`torchrun` and `accelerate launch` start every process with the same command. The first one (rank 0) reads, clusters and
writes. The others wait for their part of the training (engines/torchrun.py) and exit after it. Ray Train connects its
own workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from subtaxa.runtime.launcher import started_by_launcher

Item = TypeVar("Item")

_ALONE = ContextVar("alone", default=False)

# How long the other processes wait while the first one reads all texts. A process that died is noticed at once.
TIMEOUT = timedelta(days=2)


def local_world_size() -> int:
    """The number of processes that train together on this machine and share its memory."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if dist.is_initialized() else 1


@contextmanager
def group() -> Iterator[None]:
    """Connect the processes that a launcher started. Ray connects its workers itself."""
    if not started_by_launcher() or dist.is_initialized():
        yield
        return
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=TIMEOUT)
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def alone() -> Iterator[None]:
    """A block that only this process runs. Nothing in it waits for the other processes."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def _connected() -> bool:
    return dist.is_initialized() and not _ALONE.get()


def world_size() -> int:
    """The number of processes that are connected, or 1."""
    return dist.get_world_size() if _connected() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if _connected() else 0


def shard(items: Sequence[Item]) -> Sequence[Item]:
    """The items that this process works on."""
    return items[rank() :: world_size()]


def all_gather_rows(out: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Fill in the rows of `out` that the other processes computed. This process computed those in `shard(rows)`."""
    for owner in range(world_size()) if world_size() > 1 else ():
        of_owner = rows[owner :: world_size()]
        if of_owner:
            where = torch.cat(list(of_owner))
            part = out[where]
            dist.broadcast(part, owner)
            out[where] = part
    return out


def broadcast(work: Callable[[], Item]) -> Item:
    """The result of `work` in the first process, for all processes. An error is raised in all of them."""
    if world_size() == 1:
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
    """The mean of the values over all processes."""
    if world_size() > 1:
        dist.all_reduce(values)
        values /= world_size()
    return values


def any_process(condition: bool) -> bool:
    """Whether the condition holds in at least one process."""
    if world_size() == 1:
        return condition
    flag = torch.tensor(int(condition))
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)
