"""How many categories there are below each label, when the user does not say: as many as are clear-cut.

N texts, n of them looked at, K categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering import SAMPLE, Forest, clearest

NEARLY = 0.05  # clearness this near the best is plausible
SHIFT = 0.12  # clearness given up for a coarser or finer result
TEXTS = 20_000  # of more than that, so many show which number is best
TRIED = 50  # totals looked at, and around the clearest
FINE = 20  # more
CLOSE = 0.1  # totals that differ by less than this share are judged together
POWERS = (1.0, 0.375)  # regards to sizes that are tried: Ward's, and one for uneven categories
NOTHING_STANDS_OUT = (0.5, 2 / 3, 1.15, 2.0, 4.0)  # then these multiples of √N, from coarse to fine
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
    """The number of categories below each label that makes them the clearest: by the mean silhouette over all texts.

    Each total is shared out by cutting all trees at one height, so that a label is divided no finer than the others,
    and judged by the categories that it leads to. A text is compared with every other category, also of other labels: a
    label of one kind stays whole, because its halves would be nearer to each other than the whole is to any other
    label. Totals about as clear as the best are plausible. Totals close to each other are judged together, since a
    single one may be lucky. Coarse and fine go further, to what is still fairly clear. If no total stands out, it is
    about √N, the number that leaves as many texts to a category as there are categories.
    """
    n = len(forest.features)
    forest = forest.thinned(TEXTS)
    tried = _Tried(forest, fixed or {}, seed)
    if len(tried.fixed) == len(forest.trees):
        return given(forest.share_out(tried.least, fixed))
    last = min(tried.most, max(tried.least, 2 * readable(n)))
    totals = sorted(set(np.geomspace(tried.least, last, TRIED).round().astype(int).tolist()))
    level = tried.level(totals)
    best = int(level.argmax())
    low, high = _nearly(totals, level, NEARLY * abs(level[best]))
    coarse, fine = _nearly(totals, level, SHIFT * abs(level[best]))
    normal = tried.peak(totals[best], low, high)
    if best >= len(totals) - 3 and last < tried.most:  # ever finer is ever clearer: nothing stands out
        coarse, low, normal, high, fine = (int(np.clip(x * n**0.5, tried.least, last)) for x in NOTHING_STANDS_OUT)
    if len(forest.trees) == 1 and max(map(tried.clear, totals)) < LONE_FLOOR:
        low = normal = high = coarse = fine = 1
    return tried.choices({"coarse": coarse, "normal": normal, "fine": fine}[granularity], low, high)


class _Tried:
    """Totals that were tried: how each is shared out among the labels, and how clear-cut the texts then are."""

    def __init__(self, forest: Forest, fixed: Mapping[int, int], seed: int) -> None:
        self.forest, self.fixed = forest, fixed
        labels, n = len(forest.trees), len(forest.features)
        self.rows = np.sort(np.random.default_rng(seed).permutation(n)[:SAMPLE])
        self.owner = forest.labels[self.rows]  # (n,) the label of each text that is looked at
        self.least = sum(fixed.get(label, 1) for label in range(labels))
        self.most = self.least + sum(tree.most - 1 for i, tree in enumerate(forest.trees) if i not in fixed)
        self.numbers: dict[int, list[int]] = {}
        self.scores: dict[int, NDArray[np.float64]] = {}  # of each text that is looked at

    def clear(self, total: int) -> float:
        """How clear-cut the texts are at this total."""
        if total not in self.scores:
            self.numbers[total] = self.forest.share_out(total, self.fixed)
            self.scores[total] = clearest(self.forest, self.numbers[total], self.rows, POWERS)[1]
        return float(self.scores[total].mean())

    def level(self, totals: Sequence[int], width: float = CLOSE) -> NDArray[np.float64]:
        """How clear-cut the texts are around each of these totals."""
        close = np.abs(np.subtract.outer(np.log(totals), np.log(totals))) < width
        return np.asarray(close @ np.array([self.clear(total) for total in totals]) / close.sum(1))

    def peak(self, total: int, low: int, high: int) -> int:
        """The clearest of the totals close to this one, from low to high, on a finer scale."""
        scale = np.round(total * np.exp(np.linspace(-1.5 * CLOSE, 1.5 * CLOSE, FINE))).astype(int).tolist()
        near = sorted(near for near in {total, *scale} if self.least <= near <= self.most)
        level = self.level(near, CLOSE / 2)
        return max(zip(level, near, strict=True), key=lambda pair: (low <= pair[1] <= high, pair[0]))[1]

    def choices(self, taken: int, low: int, high: int) -> list[Choice]:
        """What these totals mean for each label, with its curve over all totals tried."""
        for total in (taken, low, high):
            self.clear(total)
        labels = len(self.forest.trees)
        size = np.maximum(np.bincount(self.owner, minlength=labels), 1)
        curves: list[dict[int, float]] = [{} for _ in range(labels)]
        for total in sorted(self.scores):
            for label, clear in enumerate(np.bincount(self.owner, self.scores[total], labels) / size):
                curves[label][self.numbers[total][label]] = float(clear)
        return [
            Choice(
                self.numbers[taken][label],
                self.numbers[low][label],
                self.numbers[high][label],
                () if label in self.fixed else tuple(sorted(curves[label].items())),
            )
            for label in range(labels)
        ]


def _nearly(totals: Sequence[int], level: NDArray[np.float64], leeway: float) -> tuple[int, int]:
    """The lowest and the highest of the totals that are nearly as clear as the clearest."""
    enough = np.flatnonzero(level >= level.max() - leeway)
    return totals[enough[0]], totals[enough[-1]]
