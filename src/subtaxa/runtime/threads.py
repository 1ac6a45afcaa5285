"""Runs small batches in parallel, one per core. Several cores on one small batch mostly wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Apply `work` to each item and yield the results in order.

    As many threads run as PyTorch may use, and PyTorch uses a single core in each of them. The results do not depend on
    the number of threads.
    """
    threads, with_gradients = torch.get_num_threads(), torch.is_grad_enabled()
    if threads == 1 or len(items) < 2:
        yield from map(work, items)
        return

    def in_thread(item: Item) -> Result:
        with torch.set_grad_enabled(with_gradients):  # A new thread does not inherit this.
            return work(item)

    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(in_thread, items)
    finally:
        torch.set_num_threads(threads)
