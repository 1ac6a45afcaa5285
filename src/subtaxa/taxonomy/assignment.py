"""The category of new texts, with its probability.

n texts, K categories, D dimensions.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.calibration import confidence_of, probabilities
from subtaxa.data.values import shortened
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.fitted_state import FittedState


class Assignment(NamedTuple):
    """The categories of some texts.

    Attributes
    ----------
    category_index : ndarray of shape (n_texts,)
        The index of each text's category in the taxonomy.
    confidence : ndarray of shape (n_texts,)
        The calibrated probability that this category is right.
    probabilities : ndarray of shape (n_texts, n_categories)
        The probability of every category, given that the categories themselves are right.
    features : ndarray of shape (n_texts, n_features)
        The features of the texts.
    """

    category_index: Ints  # (n,)
    confidence: NDArray[np.float64]  # (n,)
    probabilities: NDArray[np.float64]  # (n, K)
    features: Floats  # (n, D)

    @property
    def place(self) -> Ints:
        """The old name of `category_index`."""
        return self._renamed("place", "category_index")

    @property
    def sure(self) -> NDArray[np.float64]:
        """The old name of `confidence`."""
        return self._renamed("sure", "confidence")

    @property
    def likely(self) -> NDArray[np.float64]:
        """The old name of `probabilities`."""
        return self._renamed("likely", "probabilities")

    def _renamed(self, old: str, new: str) -> Any:
        warnings.warn(
            f"`{old}` is now `{new}`; the old name will be removed in 0.3.0", DeprecationWarning, stacklevel=3
        )
        return getattr(self, new)


def assign(state: FittedState, texts: Sequence[str], labels: Sequence[str] | None, progress: Progress) -> Assignment:
    """The category of each text, among those of its coarse label where `labels` are given.

    The texts are clean (`as_texts`). A training text gets the category it has in the state.
    """
    features = state.reader.features(texts, progress)
    clusters, calibration = state.clusters, state.calibration
    coarse = None if labels is None else _label_numbers(state, labels, len(features))
    probability = probabilities(features, clusters, calibration, coarse)
    known, index = state.known_texts.lookup(texts)
    if coarse is not None:
        known &= clusters.parents[index] == coarse
    elif known.any():
        own_label = clusters.parents[index[known]]
        probability[known] = probabilities(features[known], clusters, calibration, own_label)
    index = np.where(known, index, probability.argmax(1))
    confidence = confidence_of(probability, index, calibration, coarse)
    if coarse is None:  # The coarse label of a known text is known as well.
        confidence[known] = confidence_of(probability[known], index[known], calibration, index[known])
    return Assignment(index, confidence, probability, features)


def _label_numbers(state: FittedState, labels: Sequence[str], n_texts: int) -> Ints:
    """The number of each coarse label (n,), given the names of the labels."""
    if len(labels) != n_texts:
        raise InputError(f"there are {n_texts} texts but {len(labels)} labels: give each text one label")
    number = {name: i for i, name in enumerate(state.coarse_labels)}
    names = list(map(str, labels))
    for name in dict.fromkeys(names):
        whole = re.sub(r"^(-?\d+)\.0$", r"\1", name)  # pandas writes whole numbers so if one of them is missing.
        if name not in number and whole in number:
            number[name] = number[whole]
        if name not in number:
            what = f"label {shortened(name)} is not a label of the training texts" if name else "a text has no label"
            raise InputError(f"{what}: use {', '.join(state.coarse_labels)}")
    return np.array([number[name] for name in names], dtype=np.int64)
