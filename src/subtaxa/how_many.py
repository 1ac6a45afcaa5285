"""How many categories there are below each label, when the user does not say: as many as are clear-cut.

N texts, n of them looked at, K categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering import Floats, Forest, Ints, means

SAMPLE = 8000  # texts looked at
NEARLY = 0.05  # clearness this near the best is plausible
SHIFT = 0.12  # clearness given up for a coarser or finer result
TRIED = 60  # totals looked at
CLOSE = 0.1  # totals that differ by less than this share are judged together
LONE_FLOOR = 0.5  # with a single coarse label there is nothing to compare with: below this silhouette it stays whole


def readable(n_texts: int) -> int:
    """As many categories as a reader can make use of: 2·√N, so that they and their sizes both grow with the data."""
    return max(2, round(2 * n_texts**0.5))


class Choice(NamedTuple):
    """The number of categories below one label, the plausible ones, and how clear-cut each number looked."""

    chosen: int
    low: int
    high: int
    curve: tuple[tuple[int, float], ...]  # empty where the number was given


def given(numbers: Sequence[int]) -> list[Choice]:
    """Numbers that were not chosen but asked for."""
    return [Choice(number, number, number, ()) for number in numbers]


def choose(
    forest: Forest, granularity: str = "normal", fixed: Mapping[int, int] | None = None, seed: int = 0
) -> list[Choice]:
    """The number of categories below each label whose cut is the clearest: by the mean silhouette over all texts.

    All trees are cut at one height, so that a label is divided no finer than the others. A text is compared with
    every other category, also of other labels: a label of one kind stays whole, because its halves would be nearer to
    each other than the whole is to any other label. Totals about as clear as the best are plausible, and the middle of
    them is taken, or the clearest if they are few; coarse and fine go further, to what is still fairly clear. If no
    total stands out, it is about √N, the number that leaves as many texts to a category as there are categories.
    """
    fixed = fixed or {}
    labels, n = len(forest.trees), len(forest.features)
    if len(fixed) == labels:
        return given([fixed[label] for label in range(labels)])
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:SAMPLE])
    owner = np.empty(n, dtype=np.int64)
    for label, members in enumerate(forest.members):
        owner[members] = label
    sampled = np.bincount(owner[rows], minlength=labels)  # texts of each label
    least = sum(fixed.get(label, 1) for label in range(labels))
    most = least + sum(tree.most - 1 for label, tree in enumerate(forest.trees) if label not in fixed)
    scores: dict[int, float] = {}
    numbers: dict[int, list[int]] = {}
    of_label: dict[int, NDArray[np.float64]] = {}

    def look(some: Iterable[int]) -> None:
        for total in some:
            if total not in scores:
                numbers[total] = forest.share_out(total, fixed)
                clear = silhouettes(forest.features, forest.cut(numbers[total]), total, rows)
                scores[total] = float(clear.mean())
                of_label[total] = np.bincount(owner[rows], clear, labels) / np.maximum(sampled, 1)

    last = min(most, max(least, 2 * readable(n)))
    totals = sorted(set(np.geomspace(least, last, TRIED).round().astype(int).tolist()))
    look(totals)
    close = np.abs(np.subtract.outer(np.log(totals), np.log(totals))) < CLOSE  # a single total may be lucky
    level = close @ np.array([scores[total] for total in totals]) / close.sum(1)
    low, high = _nearly(totals, level, NEARLY)
    middle = round((low * high) ** 0.5)
    if high <= (1 + 3 * CLOSE) * low:  # a peak and no plateau
        look(range(low, high + 1, max(1, (high - low) // TRIED)))
        middle = max(range(low, high + 1), key=lambda total: (scores.get(total, -1.0), -total))
    coarse, fine = _nearly(totals, level, SHIFT)
    if int(level.argmax()) >= len(totals) - 3 and last < most:  # ever finer is ever clearer: no number stands out
        coarse, low, high, fine = (int(np.clip(x * n**0.5, least, last)) for x in (0.5, 2 / 3, 2.0, 4.0))
        middle = round((low * high) ** 0.5)
    if labels == 1 and max(scores.values()) < LONE_FLOOR:
        low = middle = high = coarse = fine = 1
    look([low, middle, high, coarse, fine])
    taken = {"coarse": coarse, "normal": middle, "fine": fine}[granularity]
    found = []
    for label in range(labels):
        curve = {numbers[total][label]: float(of_label[total][label]) for total in sorted(scores)}
        ends = () if label in fixed else tuple(sorted(curve.items()))
        found.append(Choice(numbers[taken][label], numbers[low][label], numbers[high][label], ends))
    return found


def _nearly(totals: Sequence[int], level: NDArray[np.float64], leeway: float) -> tuple[int, int]:
    """The lowest and the highest of the totals that are nearly as clear as the clearest."""
    enough = np.flatnonzero(level >= level.max() - leeway * abs(level.max()))
    return totals[enough[0]], totals[enough[-1]]


def silhouettes(features: Floats, assignment: Ints, k: int, rows: Ints) -> NDArray[np.float64]:
    """The exact cosine silhouette of some rows, without any N x N matrix.

    The mean cosine distance from a unit vector to the members of a category is 1 minus its product with their mean.
    """
    centres, sizes = means(features, assignment, k)
    own, some = assignment[rows], np.arange(len(rows))
    distance = 1.0 - features[rows] @ centres.T.astype(np.float32)  # (n, K)
    inside = distance[some, own] * sizes[own] / np.maximum(sizes[own] - 1, 1)  # (n,) without the text itself
    distance[some, own] = np.inf
    distance[:, sizes == 0] = np.inf
    outside = distance.min(1)
    judged = (sizes[own] > 1) & np.isfinite(outside)  # a text alone, or without any other category, scores 0
    score = np.zeros(len(rows))
    inside, outside = inside[judged], outside[judged]
    score[judged] = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12)
    return score
