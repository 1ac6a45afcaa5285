"""How many categories there are below each label, when the user does not say: as many as are clear-cut.

N texts, n of them looked at, T totals tried, L labels, K categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import AS_CLEAR, BLURRED, Evenness, Forest, clearest, evenness, if_even
from subtaxa.runtime.arrays import Ints

NEARLY = 0.05  # clearness this near the best is plausible
SHIFT = 0.12  # clearness given up for a coarser or finer result, which has at least
STEP = 0.1  # fewer or more categories
TEXTS = 20_000  # of more than that, so many show which number is best
TRIED = 50  # totals looked at, and among the plausible
FINE = 20  # more
MISPLACED = 3.0  # times as much as a silhouette counts that a text is misplaced
CLOSE = 0.1  # totals that differ by less than this share are judged together
POWERS = (1.0, 0.375)  # regards to sizes that are tried: Ward's, and one for uneven categories
NOTHING_STANDS_OUT = (0.5, 2 / 3, 1.15, 2.0, 4.0)  # then these multiples of √N, from coarse to fine
EVEN_STEP = 0.05  # between totals that are tried for categories of one size, before the best is looked at more closely,
CLOSELY = 10  # at so many totals
LONE_FLOOR = 0.5  # with a single coarse label there is nothing to compare with: below this silhouette it stays whole


def readable(n_texts: int) -> int:
    """As many categories as a reader can make use of: 2·√N, so that they and their sizes both grow with the data."""
    return max(2, round(2 * n_texts**0.5))


class CategoryCount(NamedTuple):
    """The number of categories below one label, the plausible ones, and how clear-cut each number looked."""

    chosen: int
    low: int
    high: int
    curve: tuple[tuple[int, float], ...]  # empty where the number was given
    even: bool = False  # it was chosen for categories of one size


class Estimate(NamedTuple):
    """How clear-cut the categories of each label looked for every total that was tried, and the totals to take."""

    numbers: Ints  # (T, L) how each total was shared out
    clear: NDArray[np.float64]  # (T, L)
    take: Ints  # (5,) the coarse total, the lowest plausible, the normal, the highest plausible, the fine

    @property
    def total(self) -> int:
        return int(self.take[2])


def exactly(forest: Forest, total: int, fixed: Mapping[int, int] | None = None) -> tuple[Forest, list[CategoryCount]]:
    """A number of categories that was not chosen but asked for, shared out; with the forest as it is to be cut."""
    forest = if_even(forest, total, fixed)
    return forest, [given(number) for number in forest.share_out(total, fixed)]


def given(number: int) -> CategoryCount:
    return CategoryCount(number, number, number, ())


def choose(
    forest: Forest,
    granularity: str = "normal",
    fixed: Mapping[int, int] | None = None,
    judged: Estimate | None = None,
) -> tuple[Forest, list[CategoryCount]]:
    """The number of categories below each label: the total that was `judged` the best, by these texts or by others,
    shared out among the labels as this forest has it; with the forest as it is to be cut."""
    fixed = fixed or {}
    if len(fixed) == len(forest.trees):
        return exactly(forest, sum(fixed.values()), fixed)
    judged = judged or judge(forest, fixed)
    coarse, low, normal, high, fine = np.minimum(judged.take, _most(forest, fixed)).tolist()
    taken = {"coarse": coarse, "normal": normal, "fine": fine}[granularity]
    forest = if_even(forest, taken, fixed)
    shares = zip(*(forest.share_out(total, fixed) for total in (taken, low, high)), strict=True)
    return forest, [
        given(own) if label in fixed else CategoryCount(own, lowest, highest, _curve(judged, label, own), forest.even)
        for label, (own, lowest, highest) in enumerate(shares)
    ]


def judge(forest: Forest, fixed: Mapping[int, int] | None = None) -> Estimate:
    """The total that makes the texts clear: by their mean silhouette, less three times the share of those below zero.

    Each total is shared out by cutting all trees at one height, so that a label is divided no finer than the others,
    and judged by the categories that it leads to. A text is compared with every other category, also of other labels: a
    label of one kind stays whole, because its halves would be nearer to each other than the whole is to any other
    label. A text with a silhouette below zero is misplaced: a total too large or too small has more of them. Totals
    close to each other are judged together, since a single one may be lucky. Totals about as clear as the best are
    plausible, and their middle is taken: the curve is flat, and where on it the highest point lies is chance, unless
    all categories turn out to be of one size, which points at one total. Coarse and fine go further, to what is still
    fairly clear. If no total stands out, it is about √N, the number that leaves as many texts to a category as there
    are categories.
    """
    n, fixed = len(forest.features), fixed or {}
    forest = forest.thinned(TEXTS)
    tried = _Tried(forest, fixed)
    most = _most(forest, fixed)
    last = min(most, max(tried.least, 2 * readable(n)))
    totals = sorted(set(np.geomspace(tried.least, last, TRIED).round().astype(int).tolist()))
    level = tried.level(totals)
    best = int(level.argmax())
    scale = abs(tried.silhouette(totals[best]))
    low, normal, high = tried.middle(*_nearly(totals, level, NEARLY * scale, beyond=1), NEARLY * scale)
    coarse, fine = _nearly(totals, level, SHIFT * scale)
    low, normal, high = tried.evenest(coarse, fine) or (low, normal, high)
    coarse = max(tried.least, min(coarse, low, int(normal * (1 - STEP))))
    fine = min(most, max(fine, high, int(normal * (1 + STEP)) + 1))
    blurred = tried.misplaced(normal) > BLURRED
    if (best >= len(totals) - 3 or blurred) and last < most:  # ever finer is ever clearer, or nothing is clear
        coarse, low, normal, high, fine = (int(np.clip(x * n**0.5, tried.least, last)) for x in NOTHING_STANDS_OUT)
    if len(forest.trees) == 1 and max(map(tried.silhouette, totals)) < LONE_FLOOR:
        low = normal = high = coarse = fine = 1
    return tried.judged((coarse, low, normal, high, fine))


class _Tried:
    """Totals that were tried: how each is shared out among the labels, and how clear-cut the texts then are."""

    def __init__(self, forest: Forest, fixed: Mapping[int, int]) -> None:
        self.forest, self.fixed = forest, fixed
        self.rows = forest.sample()
        self.owner = forest.labels[self.rows]  # (n,) the label of each text that is looked at
        self.least = sum(fixed.get(label, 1) for label in range(len(forest.trees)))
        self.numbers: dict[int, list[int]] = {}
        self.scores: dict[int, NDArray[np.float64]] = {}  # (n,) of each text that is looked at

    def silhouette(self, total: int) -> float:
        """The mean silhouette of the texts at this total."""
        if total not in self.scores:
            self.numbers[total] = self.forest.share_out(total, self.fixed)
            self.scores[total] = clearest(self.forest, self.numbers[total], self.rows, POWERS)[1]
        return float(self.scores[total].mean())

    def clear(self, total: int) -> float:
        """How clear-cut the texts are at this total."""
        return self.silhouette(total) - MISPLACED * self.misplaced(total)

    def misplaced(self, total: int) -> float:
        """The share of the texts that lie nearer to another category than to their own."""
        self.silhouette(total)
        return float((self.scores[total] < 0).mean())

    def level(self, totals: Sequence[int]) -> NDArray[np.float64]:
        """How clear-cut the texts are around each of these totals."""
        apart = np.abs(np.subtract.outer(np.log(totals), np.log(totals)))
        close = np.maximum(0.0, 1.0 - apart / CLOSE)  # (T, T) the closer, the more it counts
        return np.asarray(close @ np.array([self.clear(total) for total in totals]) / close.sum(1))

    def middle(self, first: int, last: int, leeway: float) -> tuple[int, int, int]:
        """The plausible totals between two, looked at on a finer scale: the lowest, their middle, to which the clearer
        ones count more, and the highest."""
        totals = np.unique(np.geomspace(first, last, FINE).round().astype(int))
        level = self.level(totals.tolist())
        spare = np.maximum(level - level.max() + leeway, 0.0)  # (T,)
        if not spare.any():  # no leeway at all
            spare = (level == level.max()).astype(np.float64)
        middle = round(float(np.exp(np.average(np.log(totals), weights=spare))))
        plausible = totals[spare > 0]
        return int(plausible.min()), middle, int(plausible.max())

    def evenest(self, first: int, last: int) -> tuple[int, int, int] | None:
        """If all categories are of one size: of the totals between two, the lowest plausible one, the one at which the
        fewest texts are misplaced when forced into such categories, and the highest plausible one; None if the force is
        felt there. Too few texts of a category, or too many, are at once nearer to another."""
        found: dict[int, Evenness] = {}

        def best(totals: Iterable[int]) -> int:
            found.update((total, evenness(self.forest, total, self.fixed)) for total in totals if total not in found)
            return min(found, key=lambda total: (found[total].misplaced, -round(found[total].left, 6), total))

        around = best(np.geomspace(first, last, 2 + int(np.log(last / first) / EVEN_STEP)).round().astype(int).tolist())
        near = max(1, round(EVEN_STEP * around))
        taken = best(
            np.linspace(max(first, around - near), min(last, around + near), CLOSELY).round().astype(int).tolist()
        )
        if found[taken].left < AS_CLEAR:
            return None
        most = found[taken].misplaced + NEARLY / 2
        plausible = [total for total, even in found.items() if even.left >= AS_CLEAR and even.misplaced <= most]
        return min(plausible), taken, max(plausible)

    def judged(self, take: Sequence[int]) -> Estimate:
        """All that was tried, each label by itself."""
        for total in take:
            self.clear(total)
        totals, labels = sorted(self.scores), len(self.forest.trees)
        size = np.maximum(np.bincount(self.owner, minlength=labels), 1)
        clear = [
            np.bincount(self.owner, self.scores[total] - MISPLACED * (self.scores[total] < 0), labels) / size
            for total in totals
        ]
        return Estimate(np.array([self.numbers[total] for total in totals]), np.array(clear), np.array(take))


def _curve(judged: Estimate, label: int, chosen: int) -> tuple[tuple[int, float], ...]:
    """How clear each number of a label looked; of a chosen one that was not tried, between its neighbours."""
    curve = dict(zip(judged.numbers[:, label].tolist(), judged.clear[:, label].tolist(), strict=True))
    places = sorted(curve)
    curve.setdefault(chosen, float(np.interp(chosen, places, [curve[place] for place in places])))
    return tuple(sorted(curve.items()))


def _most(forest: Forest, fixed: Mapping[int, int]) -> int:
    """The largest total there can be."""
    return sum(fixed.get(label, tree.most) for label, tree in enumerate(forest.trees))


def _nearly(totals: Sequence[int], level: NDArray[np.float64], leeway: float, beyond: int = 0) -> tuple[int, int]:
    """The lowest and the highest of the totals that are nearly as clear as the clearest, or so many places further."""
    enough = np.flatnonzero(level >= level.max() - leeway)
    return totals[max(0, enough[0] - beyond)], totals[min(len(totals) - 1, enough[-1] + beyond)]
