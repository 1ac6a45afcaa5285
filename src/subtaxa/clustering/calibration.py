"""How sure an assignment is, and how stable a category, learned without gold labels.

Texts are clustered anew: other samples, other starts, somewhat other numbers of categories, and features on the way
back to the untrained encoder, because training confirms its own mistakes. Where these clusterings agree with ours
about a text, one may be sure of it; where they do not, not. Two things can be wrong: which category it is, and whether
that is one at all. So the confidence is s·softmax(similarity / T). T and s are fitted to the agreement by maximum
likelihood, once for texts whose label is known and once for those whose label is not.

N texts, n of one label, B in a block, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import expit, softmax
from sklearn.cluster import KMeans

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints, unit

RESAMPLES = 16
AT_MOST = 2000  # texts per label that are clustered anew
JUDGED = 6000  # texts in all that the confidence is fitted to
BLOCK = 20_000  # texts whose probabilities are worked out at once
OTHER_NUMBER = 0.25  # how much larger or smaller the number may be, as a logarithm


class Fit(NamedTuple):
    """T and s of the formula above."""

    temperature: float
    trust: float


class Calibration(NamedTuple):
    """What turns similarities into probabilities, with and without the text's label."""

    within: Fit
    across: Fit


UNKNOWN = Calibration(Fit(0.05, 1.0), Fit(0.05, 1.0))  # when no label has two categories to compare


def probabilities(
    features: Floats, clusters: Clusters, confidence: Calibration, labels: Ints | None = None
) -> NDArray[np.float64]:
    """The probability of each category (N, K), if they are right; zero outside the label where that is known."""
    likely = np.empty((len(features), len(clusters)))  # (N, K)
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        similarity = (features[rows] @ clusters.centroids.T).astype(np.float64)  # (B, K)
        if labels is None:
            likely[rows] = softmax(similarity / confidence.across.temperature, axis=1)
        else:
            possible = labels[rows, None] == clusters.parents
            likely[rows] = softmax(np.where(possible, similarity / confidence.within.temperature, -np.inf), axis=1)
    return likely


def confidence_of(
    likely: NDArray[np.float64], place: Ints, confidence: Calibration, labels: Ints | None = None
) -> NDArray[np.float64]:
    """How sure it is (N,) that the texts are filed rightly, given their probabilities (N, K)."""
    fit = confidence.across if labels is None else confidence.within
    return fit.trust * likely[np.arange(len(place)), place]


def calibrate(
    features: Floats,
    untrained: Floats,
    labels: Ints,
    clusters: Clusters,
    seed: int = 0,
    advance: Callable[[int], None] = lambda n: None,
) -> tuple[Calibration, NDArray[np.float64]]:
    """The confidence that the clusterings anew bear out, and the stability of each category (K,).

    A category's stability is its mean Jaccard overlap with its counterpart.
    """
    rng = np.random.default_rng(seed)
    stability = np.ones(len(clusters))
    some, agreed = [], []
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        advance(len(members))
        ours = np.flatnonzero(clusters.parents == label)
        if len(members) > AT_MOST:
            members = np.sort(rng.choice(members, AT_MOST, replace=False))
        mine = (features[members] @ clusters.centroids[ours].T).argmax(1)  # (n,)
        agreement, overlap = _anew(features[members], untrained[members], mine, len(ours), rng)
        some.append(members)
        agreed.append(agreement)
        stability[ours] = overlap
    if np.bincount(clusters.parents).max() < 2:
        return UNKNOWN, stability
    rows, agreement = np.concatenate(some), np.concatenate(agreed)
    judged = np.sort(rng.permutation(len(rows))[:JUDGED])
    rows, agreement = rows[judged], agreement[judged]
    similarity = (features[rows] @ clusters.centroids.T).astype(np.float64)
    inside = np.where(labels[rows][:, None] == clusters.parents, similarity, -np.inf)
    return Calibration(_fitted(inside, agreement), _fitted(similarity, agreement)), stability


def _anew(
    features: Floats, untrained: Floats, mine: Ints, k: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often clusterings anew agree with ours about each text (n,), and about each of our k categories (k,)."""
    n = len(mine)
    if n < 2 * k:
        return np.ones(n), np.ones(k)
    agreement, overlap = np.zeros(n), np.zeros(k)
    for _ in range(RESAMPLES):
        share = rng.uniform()
        rows = unit(share * features + (1 - share) * untrained)  # (n, D)
        number = round(k * np.exp(rng.uniform(-OTHER_NUMBER, OTHER_NUMBER)) + rng.uniform(-0.5, 0.5))
        sample = rows[rng.integers(n, size=n)]
        number = min(max(1, number), len(np.unique(sample, axis=0)))
        found = KMeans(number, n_init=1, max_iter=50, random_state=int(rng.integers(2**31))).fit(sample)
        theirs = (rows @ unit(found.cluster_centers_).T).argmax(1)  # (n,)
        table = np.zeros((number, k))
        np.add.at(table, (theirs, mine), 1)
        a, b = linear_sum_assignment(-table)
        match = np.full(number, -1)
        match[a] = b
        agreement += match[theirs] == mine
        together = table[a, b]
        overlap[b] += together / np.maximum(table.sum(1)[a] + table.sum(0)[b] - together, 1)
    return agreement / RESAMPLES, overlap / RESAMPLES


def _fitted(similarity: NDArray[np.float64], agreement: NDArray[np.float64]) -> Fit:
    """The parameters under which the agreement is most likely."""

    def read(values: NDArray[np.float64]) -> Fit:
        return Fit(float(np.exp(np.clip(values[0], np.log(0.005), 0.0))), float(expit(values[1])))

    def surprise(values: NDArray[np.float64]) -> float:
        fit = read(values)
        likely = np.clip(fit.trust * softmax(similarity / fit.temperature, axis=1).max(1), 1e-6, 1 - 1e-6)
        return -float((agreement * np.log(likely) + (1 - agreement) * np.log(1 - likely)).mean())

    best = minimize(surprise, [np.log(0.05), 2.0], method="Nelder-Mead", options={"maxfev": 80, "xatol": 0.02})
    return read(best.x)
