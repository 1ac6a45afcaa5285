"""How many categories there are, and from that how many neighbours to retrieve, when the user does not say.

Two questions, two answers. Before training, only a rough size of the categories is needed, and the features are still
blurred: the number is taken that comes out the same on two halves of the texts. After training the clusters are tight:
the number is taken whose cut is the clearest. (The second cannot replace the first: trained features always look
clearest at the scale they were trained at.) N texts, K categories.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score

from subtaxa.clustering import Floats, Forest, Ints, means, unit

SAMPLE = 8000  # texts looked at
SPLITS = 4  # into halves
LEEWAY = 0.02  # agreement this near the best is as good
SLACK = 1.3  # how far the number after training may be from the guess before it
LONE_FLOOR = 0.5  # with a single coarse label there is nothing to compare with: below this silhouette it stays whole


def plausible(guess: int, n_texts: int) -> range:
    """The numbers worth trying after training, around the guess made before it."""
    return range(round(guess / SLACK), min(round(guess * SLACK), readable(n_texts)) + 1)


def readable(n_texts: int) -> int:
    """As many categories as a reader can make use of: 2·√N, so that they and their sizes both grow with the data."""
    return max(2, round(2 * n_texts**0.5))


def stable_total(features: Floats, labels: Ints, seed: int = 0) -> int:
    """The smallest number of categories that is about as reproducible as any.

    Both halves of the texts are clustered; each clustering files all texts; what counts is their agreement within the
    coarse labels, corrected for chance.
    """
    rng, most = np.random.default_rng(seed), readable(len(features))
    some = np.sort(rng.permutation(len(features))[:SAMPLE])
    features, labels = features[some], labels[some]
    least, most = int(labels.max()) + 1, min(most, len(features) // 8)
    numbers = sorted({round(least * factor) for factor in np.geomspace(1.25, 40, 24) if least * factor <= most})
    if not numbers:
        return least
    splits = max(SPLITS, min(16, SAMPLE * SPLITS // len(features)))  # more of them where they are cheap and noisy
    scores = np.mean([_agreements(features, labels, numbers, rng) for _ in range(splits)], axis=0)
    return numbers[int(np.flatnonzero(scores >= (1 - LEEWAY) * scores.max())[0])]


def _agreements(features: Floats, labels: Ints, numbers: list[int], rng: np.random.Generator) -> NDArray[np.float64]:
    """The agreement of two halves for each number of categories."""
    first = np.zeros(len(features), dtype=bool)
    for label in np.unique(labels):  # every label has texts in both halves, as far as it has two
        members = rng.permutation(np.flatnonzero(labels == label))
        first[members[: (len(members) + 1) // 2]] = True
    halves = [np.flatnonzero(first), np.flatnonzero(~first)]
    shared = np.isin(labels, labels[halves[1]])  # a label of one text has no second half
    names, inside = np.unique(labels[shared], return_inverse=True)
    rows = np.flatnonzero(shared)
    forests = []
    for half in halves:
        kept = half[np.isin(half, rows)]
        forests.append(Forest(features[kept], np.searchsorted(names, labels[kept])))
    return np.array([_agreement(features[rows], inside, forests, number) for number in numbers])


def _agreement(features: Floats, labels: Ints, forests: list[Forest], number: int) -> float:
    filed = []
    for forest in forests:
        numbers = forest.share_out(min(max(number, len(forest.trees)), forest.most))
        centroids = [unit(means(t.features, t.cut(k), k)[0]) for t, k in zip(forest.trees, numbers, strict=True)]
        assignment = np.empty(len(features), dtype=np.int64)
        for label, own in enumerate(centroids):
            members = labels == label
            assignment[members] = (features[members] @ own.T).argmax(1)
        filed.append(assignment)
    agreement = 0.0
    for label in range(len(forests[0].trees)):
        members = labels == label
        if filed[0][members].any() or filed[1][members].any():  # a label that is not cut tells nothing and adds nothing
            agreement += members.mean() * adjusted_mutual_info_score(filed[0][members], filed[1][members])
    return agreement


def clearest_total(forest: Forest, among: range, seed: int = 0) -> int:
    """The number of categories whose cut has the best mean silhouette over all texts, first widely, then nearby.

    A text is compared with every other category, also of other labels. So a label of one kind stays whole: cut in two,
    its halves would be nearer to each other than the whole is to any other label.
    """
    labels, n = len(forest.trees), len(forest.features)
    first, last = (min(max(end, labels), forest.most) for end in (among.start, among.stop - 1))
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:SAMPLE])
    scores: dict[int, float] = {}

    def best(numbers: range) -> int:
        for number in numbers:
            if number not in scores:
                assignment = forest.cut(forest.share_out(number))
                scores[number] = float(silhouettes(forest.features, assignment, number, rows).mean())
        return max(scores, key=lambda number: (scores[number], -number))

    wide = max(1, round((last - first) / 60))
    found = best(range(first, last + 1, wide))
    found = best(range(max(first, found - wide + 1), min(last, found + wide - 1) + 1))
    return 1 if labels == 1 and scores[found] < LONE_FLOOR else found


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
