"""Label placement on a crowded map: names stay near what they name, avoid points and never overlap each other.

M names, N points, C candidate positions, all in pixels. A box is given by its centre and its width and height.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTANCES = (0.0, 3.0, 8.0, 15.0, 24.0, 35.0, 48.0, 64.0)  # Tried between the edge of a name and its anchor.
DIRECTIONS = 16  # Tried around an anchor.
GAP = 2.0  # Smallest distance between two names.
COVER_COST = 4000.0  # Covering all points costs as much as moving a name this far.
OVERLAP_COST = 1e6  # Cost of each square pixel that two names share.


def place_names(anchors: Floats, sizes: Floats, points: Floats, frame: Floats, needed: NDArray[np.bool_]) -> Floats:
    """The offset (M, 2) of the centre of each name from its anchor; NaN where there is no space for the name.

    Earlier names are placed first. `frame` (2, 2) holds the lower left and the upper right corner. A name that is
    `needed` is placed even if it overlaps another.
    """
    offsets = np.full(anchors.shape, np.nan)
    centres, taken = np.empty((0, 2)), np.empty((0, 2))  # of the names placed so far, and their sizes
    cumulative = _cumulative_share(points, frame)
    for i, (anchor, size) in enumerate(zip(anchors, sizes, strict=True)):
        distance, candidates = _candidates(size)  # (C,), (C, 2)
        low = frame[0] + size / 2
        box = np.clip(anchor + candidates, low, np.maximum(low, frame[1] - size / 2))  # (C, 2)
        pushed = np.abs(box - anchor - candidates).sum(1)  # (C,) how far the frame pushes it back
        overlap = _overlap(box, size, centres, taken)  # (C,)
        covered = _covered_share(cumulative, box - frame[0], size)  # (C,)
        cost = distance + pushed + COVER_COST * covered + OVERLAP_COST * overlap  # (C,)
        best = int(cost.argmin())
        if overlap[best] == 0 or needed[i]:
            offsets[i] = box[best] - anchor
            centres, taken = np.vstack([centres, box[best]]), np.vstack([taken, size])
    return offsets


def _candidates(size: Floats) -> tuple[Floats, Floats]:
    """The distances (C,) and the offsets (C, 2) to try for a name of this size."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS  # the first one is above
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (directions, 2)
    rings = [turns * (size / 2 + distance) for distance in DISTANCES]
    return np.repeat([0.0, *DISTANCES], [1, *(DIRECTIONS for _ in DISTANCES)]), np.vstack([np.zeros((1, 2)), *rings])


def _overlap(box: Floats, size: Floats, centres: Floats, taken: Floats) -> Floats:
    """The area (C,) that each box shares with the boxes placed so far."""
    shared = (size + taken) / 2 + GAP - np.abs(box[:, None] - centres)  # (C, M, 2)
    return np.maximum(shared, 0.0).prod(2).sum(1)


def _cumulative_share(points: Floats, frame: Floats) -> Floats:
    """The share of the points to the left of and below each pixel of the frame (a summed-area table)."""
    width, height = np.maximum(1, np.ceil(frame[1] - frame[0]).astype(np.int64))
    x, y = np.clip((points - frame[0]).astype(np.int64), 0, (width - 1, height - 1)).T  # (N,)
    count = np.bincount(x * height + y, minlength=width * height).reshape(width, height)
    return np.pad(count.cumsum(0).cumsum(1), ((1, 0), (1, 0))) / max(1, len(points))


def _covered_share(cumulative: Floats, box: Floats, size: Floats) -> Floats:
    """The share (C,) of the points that each box covers."""
    most = np.array(cumulative.shape) - 1
    left, bottom = np.clip(np.floor(box - size / 2).astype(np.int64), 0, most).T
    right, top = np.clip(np.ceil(box + size / 2).astype(np.int64), 0, most).T
    corners = cumulative[right, top] - cumulative[left, top] - cumulative[right, bottom]
    return corners + cumulative[left, bottom]
