"""Batches side by side, each on one core: all cores together at one small batch spend much of their time waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What `work` makes of each item, in their order. There are as many threads as PyTorch may use, which uses one in
    each of them meanwhile; what comes out does not depend on their number."""
    threads, learning = torch.get_num_threads(), torch.is_grad_enabled()
    if threads == 1 or len(items) < 2:
        yield from map(work, items)
        return

    def alone(item: Item) -> Result:
        with torch.set_grad_enabled(learning):  # a thread does not take it over
            return work(item)

    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(alone, items)
    finally:
        torch.set_num_threads(threads)
