"""The probability of each category of a text's own label, label by label: much less work than for all categories.

N texts, n of a label in a block, K categories, k of the label, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from subtaxa.clustering.calibration import Calibration, confidence_of, probabilities
from subtaxa.clustering.clusters import BLOCK, Clusters
from subtaxa.runtime.arrays import Floats, Ints

# The texts (n,) and the categories (k,) of a label, with the probabilities (n, k).
LabelBlock = tuple[Ints, Ints, NDArray[np.float64]]


def confidences_in_labels(
    features: Floats, assignment: Ints, clusters: Clusters, calibration: Calibration
) -> NDArray[np.float64]:
    """The confidence (N,) that each text is in the right category, if its label is right."""
    confidence = np.empty(len(features))
    for rows, own, probability in _by_label(features, assignment, clusters, calibration):
        known = np.zeros(len(rows), dtype=np.int64)
        confidence[rows] = confidence_of(probability, np.searchsorted(own, assignment[rows]), calibration, known)
    return confidence


def mean_probabilities(
    features: Floats, assignment: Ints, clusters: Clusters, calibration: Calibration
) -> NDArray[np.float64]:
    """The mean probability of every category (K, K) over the texts of each category."""
    total = np.zeros((len(clusters), len(clusters)))
    for rows, own, probability in _by_label(features, assignment, clusters, calibration):
        place = np.searchsorted(own, assignment[rows])
        member = csr_array((np.ones(len(rows)), (place, np.arange(len(rows)))), shape=(len(own), len(rows)))
        total[np.ix_(own, own)] += member @ probability
    return total / np.maximum(np.bincount(assignment, minlength=len(clusters)), 1)[:, None]


def _by_label(features: Floats, assignment: Ints, clusters: Clusters, calibration: Calibration) -> Iterator[LabelBlock]:
    coarse = clusters.parents[assignment]  # (N,)
    for label in np.unique(coarse):
        own, members = np.flatnonzero(clusters.parents == label), np.flatnonzero(coarse == label)
        alone = Clusters(clusters.centroids[own], np.zeros(len(own), dtype=np.int64))
        for start in range(0, len(members), BLOCK):
            rows = members[start : start + BLOCK]
            given = np.zeros(len(rows), dtype=np.int64)
            yield rows, own, probabilities(features[rows], alone, calibration, given)
