"""Data with known categories: blobs on the unit sphere, and a comparison of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Planted:
    """Unit features (N, D), the coarse label and the planted fine category of each row."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    truth: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def taken(self, rows: NDArray[np.int64]) -> Planted:
        """The given rows, in that order."""
        return Planted(self.features[rows], self.labels[rows], self.truth[rows])


def blobs(sizes: Sequence[Sequence[int]], *, spread: float = 0.05, dim: int = 24, seed: int = 0) -> Planted:
    """Blobs of texts: `sizes[label]` lists the number of texts of each blob. All blob centres are orthogonal."""
    rng = np.random.default_rng(seed)
    flat = [size for of_label in sizes for size in of_label]
    assert len(flat) <= dim, "orthogonal centres need a dimension each"
    centres = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    truth = np.repeat(np.arange(len(flat)), flat)
    parents = np.repeat(np.arange(len(sizes)), [len(of_label) for of_label in sizes])
    rows = centres[truth] + spread * rng.normal(size=(len(truth), dim))
    return Planted(unit_rows(rows), parents[truth], truth)


def unit_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def unit_tensor(n: int, dim: int, seed: int = 0, *, duplicates: int = 0) -> Tensor:
    """Random unit rows (N, D); the first `duplicates` of them are identical."""
    rows = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed))
    if duplicates:
        rows[:duplicates] = rows[0]
    return torch.nn.functional.normalize(rows, dim=1)


def same_partition(a: Sequence[int] | NDArray[np.int64], b: Sequence[int] | NDArray[np.int64]) -> bool:
    """Whether two numberings divide the rows in the same way."""
    pairs = set(zip(map(int, a), map(int, b), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


class LargestTensor(TorchDispatchMode):
    """Records the size of the largest tensor that any operation returns."""

    cells = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(tensor, Tensor):
                self.cells = max(self.cells, tensor.numel())
        return out
