"""The dynamic queue M: one unit-length feature per training text, addressed by the text's index."""

from __future__ import annotations

import torch
from torch import Tensor


class FeatureQueue:
    """Rows never shift or fall out: row i always belongs to text i, so neighbours can be stored as indices."""

    def __init__(self, features: Tensor) -> None:
        self.rows = features.detach().clone()  # (N, D)

    def __len__(self) -> int:
        return len(self.rows)

    def refresh(self, features: Tensor) -> None:
        """Replace every row, as is done before each epoch's retrieval."""
        if features.shape != self.rows.shape:
            raise ValueError(f"the queue holds {tuple(self.rows.shape)}, got {tuple(features.shape)}")
        self.rows.copy_(features.detach())

    @torch.no_grad()
    def write(self, index: Tensor, features: Tensor) -> None:
        """Rewrite the rows of the current batch with their latest features."""
        self.rows[index] = features.detach()  # (B, D)
