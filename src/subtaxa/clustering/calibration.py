"""Calibration: the confidence of an assignment and the stability of a category, fitted without fine labels.

The texts are clustered again several times, each time with another sample, other starts and a slightly different number
of categories. The features are mixed with those of the untrained encoder, because training confirms its own mistakes.
Texts on which these clusterings agree with ours deserve a high confidence, the others a low one.

An assignment can be wrong in two ways: the text belongs to another category, or the category does not really exist. The
confidence is therefore s·softmax(similarity / T). T and s are fitted to the agreement by maximum likelihood, once for
texts with a known coarse label and once for texts without one.

N texts, n of one label, B in a block, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import expit, softmax
from sklearn.cluster import KMeans

from subtaxa.clustering.clusters import BLOCK, Clusters
from subtaxa.runtime.arrays import Floats, Ints, unique_rows, unit

# The number of times that each label is clustered again.
RESAMPLES = 16

# The largest number of texts per label that are clustered again.
TEXTS_PER_LABEL = 2000

# The largest number of texts, over all labels, that the confidence is fitted to.
FITTED_TEXTS = 6000

# The logarithm of the number of categories is changed by at most this much.
NUMBER_CHANGE = 0.25

# The range of temperatures that a fit may return.
TEMPERATURES = (0.005, 1.0)

# The temperature at which a fit starts, and which is used if there is nothing to fit.
START_TEMPERATURE = 0.05


class ConfidenceFit(NamedTuple):
    """T and s of the formula above."""

    temperature: float
    ceiling: float  # the confidence of a text whose category has probability 1


class Calibration(NamedTuple):
    """What turns similarities into confidences: within a known coarse label, and across all labels."""

    within: ConfidenceFit
    across: ConfidenceFit

    @classmethod
    def from_dict(cls, fits: Mapping[str, Mapping[str, float]]) -> Calibration:
        """The calibration in run.json, where the ceiling has been called `trust` since 0.1.0."""
        found = cls(*(ConfidenceFit(fits[name]["temperature"], fits[name]["trust"]) for name in cls._fields))
        low, high = TEMPERATURES
        if not all(low / 2 <= fit.temperature <= 2 * high and 0 <= fit.ceiling <= 1 for fit in found):
            raise ValueError(f"the calibration is {found.to_dict()}")
        return found

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The content of `from_dict`."""
        return {
            name: {"temperature": fit.temperature, "trust": fit.ceiling}
            for name, fit in zip(self._fields, self, strict=True)
        }


# This calibration is used if no label has two categories to compare.
UNCALIBRATED = Calibration(ConfidenceFit(START_TEMPERATURE, 1.0), ConfidenceFit(START_TEMPERATURE, 1.0))


def probability_blocks(
    features: Floats, clusters: Clusters, calibration: Calibration, labels: Ints | None = None
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """The probability of each category (B, K), provided that the categories are right, for some texts at a time.

    If the labels are given, categories of other labels have probability zero.
    """
    centroids = clusters.centroids.T.astype(np.float64)  # (D, K), so that rounding by row has no visible effect
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        similarity = features[rows].astype(np.float64) @ centroids  # (B, K)
        if labels is None:
            yield rows, softmax(similarity / calibration.across.temperature, axis=1)
        else:
            possible = labels[rows, None] == clusters.parents
            scaled = np.where(possible, similarity / calibration.within.temperature, -np.inf)
            yield rows, softmax(scaled, axis=1)


def probabilities(
    features: Floats, clusters: Clusters, calibration: Calibration, labels: Ints | None = None
) -> NDArray[np.float64]:
    """The probabilities (N, K) of `probability_blocks`, all at once."""
    probability = np.empty((len(features), len(clusters)))  # (N, K)
    for rows, some in probability_blocks(features, clusters, calibration, labels):
        probability[rows] = some
    return probability


def confidence_of(
    probability: NDArray[np.float64], assignment: Ints, calibration: Calibration, labels: Ints | None = None
) -> NDArray[np.float64]:
    """The confidence (N,) that each text is in the right category, given the probabilities (N, K)."""
    fit = calibration.across if labels is None else calibration.within
    return fit.ceiling * probability[np.arange(len(assignment)), assignment]


def confidences_within(
    features: Floats, assignment: Ints, clusters: Clusters, calibration: Calibration, labels: Ints
) -> NDArray[np.float64]:
    """The confidence (N,) that each text is in the right category of its label, without holding an N x K table."""
    blocks = probability_blocks(features, clusters, calibration, labels)
    found = [confidence_of(some, assignment[rows], calibration, labels) for rows, some in blocks]
    return np.concatenate([np.empty(0), *found])


def calibrate(
    features: Floats,
    untrained: Floats,
    labels: Ints,
    clusters: Clusters,
    seed: int = 0,
    advance: Callable[[int], None] = lambda n: None,
) -> tuple[Calibration, NDArray[np.float64]]:
    """Fit the calibration, and compute the stability of each category (K,).

    The stability of a category is its mean Jaccard overlap with the category that matches it in each new clustering.
    """
    rng = np.random.default_rng(seed)
    stability = np.ones(len(clusters))
    sampled, agreements = [], []
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        advance(len(members))
        own = np.flatnonzero(clusters.parents == label)
        if len(members) > TEXTS_PER_LABEL:
            members = np.sort(rng.choice(members, TEXTS_PER_LABEL, replace=False))
        assignment = (features[members] @ clusters.centroids[own].T).argmax(1)  # (n,)
        agreement, overlap = _recluster(features[members], untrained[members], assignment, len(own), rng)
        sampled.append(members)
        agreements.append(agreement)
        stability[own] = overlap
    if np.bincount(clusters.parents).max() < 2:
        return UNCALIBRATED, stability
    rows, agreement = np.concatenate(sampled), np.concatenate(agreements)
    fitted = np.sort(rng.permutation(len(rows))[:FITTED_TEXTS])
    rows, agreement = rows[fitted], agreement[fitted]
    similarity = (features[rows] @ clusters.centroids.T).astype(np.float64)  # (n, K)
    inside = np.where(labels[rows][:, None] == clusters.parents, similarity, -np.inf)
    return Calibration(_fit(inside, agreement), _fit(similarity, agreement)), stability


def _recluster(
    features: Floats, untrained: Floats, assignment: Ints, k: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cluster the texts of one label again, several times, and match the new categories with ours.

    Returns how often the new category of each text matches its own (n,), and the mean overlap of our categories (k,).
    """
    n = len(assignment)
    if n < 2 * k:
        return np.ones(n), np.ones(k)
    agreement, overlap = np.zeros(n), np.zeros(k)
    for _ in range(RESAMPLES):
        share = rng.uniform()
        rows = unit(share * features + (1 - share) * untrained)  # (n, D)
        number = round(k * np.exp(rng.uniform(-NUMBER_CHANGE, NUMBER_CHANGE)) + rng.uniform(-0.5, 0.5))
        sample = rows[rng.integers(n, size=n)]
        number = min(max(1, number), len(unique_rows(sample)[0]))
        found = KMeans(number, n_init=1, max_iter=50, random_state=int(rng.integers(2**31))).fit(sample)
        new = (rows @ unit(found.cluster_centers_).T).argmax(1)  # (n,)
        table = np.zeros((number, k))
        np.add.at(table, (new, assignment), 1)
        a, b = linear_sum_assignment(-table)
        match = np.full(number, -1)
        match[a] = b
        agreement += match[new] == assignment
        shared = table[a, b]
        overlap[b] += shared / np.maximum(table.sum(1)[a] + table.sum(0)[b] - shared, 1)
    return agreement / RESAMPLES, overlap / RESAMPLES


def _fit(similarity: NDArray[np.float64], agreement: NDArray[np.float64]) -> ConfidenceFit:
    """The parameters under which the agreement (n,) is most likely, given the similarities (n, K)."""

    def parameters(values: NDArray[np.float64]) -> ConfidenceFit:
        low, high = (np.log(temperature) for temperature in TEMPERATURES)
        return ConfidenceFit(float(np.exp(np.clip(values[0], low, high))), float(expit(values[1])))

    def negative_log_likelihood(values: NDArray[np.float64]) -> float:
        fit = parameters(values)
        confidence = np.clip(fit.ceiling * softmax(similarity / fit.temperature, axis=1).max(1), 1e-6, 1 - 1e-6)
        return -float((agreement * np.log(confidence) + (1 - agreement) * np.log(1 - confidence)).mean())

    start = [np.log(START_TEMPERATURE), 2.0]
    best = minimize(negative_log_likelihood, start, method="Nelder-Mead", options={"maxfev": 80, "xatol": 0.02})
    return parameters(best.x)
