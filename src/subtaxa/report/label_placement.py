"""Where names go on a crowded map: near what they name, off the points where they can be, and never on one another.

M names, N points, C candidate places, all in pixels; a box is its centre and its width and height.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AWAY = (0.0, 3.0, 8.0, 15.0, 24.0, 35.0, 48.0, 64.0)  # from the edge of a name to what it names
DIRECTIONS = 16
GAP = 2.0  # between two names
SHY = 4000.0  # pixels that a name would go not to cover all points: 4 for each in a thousand of them


def place_names(anchors: Floats, sizes: Floats, points: Floats, frame: Floats, needed: NDArray[np.bool_]) -> Floats:
    """How far each name's centre (M, 2) is from its anchor, the first names first; NaN where there is no room.

    `frame` (2, 2) holds the lower left and the upper right corner. Those `needed` overlap a little rather than go.
    """
    found = np.full(anchors.shape, np.nan)
    centres, taken = np.empty((0, 2)), np.empty((0, 2))  # of the names placed, and their sizes
    ink = _ink(points, frame)
    for i, (anchor, size) in enumerate(zip(anchors, sizes, strict=True)):
        away, offsets = _candidates(size)  # (C,), (C, 2)
        low = frame[0] + size / 2
        box = np.clip(anchor + offsets, low, np.maximum(low, frame[1] - size / 2))  # (C, 2)
        pushed = np.abs(box - anchor - offsets).sum(1)  # (C,) back into the frame
        overlap = _overlap(box, size, centres, taken)  # (C,)
        cost = away + pushed + SHY * _covered(ink, box - frame[0], size) + 1e6 * overlap  # (C,)
        best = int(cost.argmin())
        if overlap[best] == 0 or needed[i]:
            found[i] = box[best] - anchor
            centres, taken = np.vstack([centres, box[best]]), np.vstack([taken, size])
    return found


def _candidates(size: Floats) -> tuple[Floats, Floats]:
    """The distance (C,) and the offset (C, 2) of the places around an anchor for a name of this size."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS  # above comes first
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (directions, 2)
    rings = [turns * (size / 2 + away) for away in AWAY]
    return np.repeat([0.0, *AWAY], [1, *(DIRECTIONS for _ in AWAY)]), np.vstack([np.zeros((1, 2)), *rings])


def _overlap(box: Floats, size: Floats, centres: Floats, taken: Floats) -> Floats:
    """The area (C,) that a box at each place shares with the boxes there are."""
    shared = (size + taken) / 2 + GAP - np.abs(box[:, None] - centres)  # (C, M, 2)
    return np.maximum(shared, 0.0).prod(2).sum(1)


def _ink(points: Floats, frame: Floats) -> Floats:
    """The share of the points to the left of and below each pixel of the frame."""
    wide, high = np.maximum(1, np.ceil(frame[1] - frame[0]).astype(np.int64))
    x, y = np.clip((points - frame[0]).astype(np.int64), 0, (wide - 1, high - 1)).T  # (N,)
    count = np.bincount(x * high + y, minlength=wide * high).reshape(wide, high)
    return np.pad(count.cumsum(0).cumsum(1), ((1, 0), (1, 0))) / max(1, len(points))


def _covered(ink: Floats, box: Floats, size: Floats) -> Floats:
    """The share (C,) of the points below a box at each place."""
    most = np.array(ink.shape) - 1
    left, bottom = np.clip(np.floor(box - size / 2).astype(np.int64), 0, most).T
    right, top = np.clip(np.ceil(box + size / 2).astype(np.int64), 0, most).T
    return ink[right, top] - ink[left, top] - ink[right, bottom] + ink[left, bottom]
