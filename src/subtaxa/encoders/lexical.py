"""Which words texts share: a second opinion on which of them are alike, beside the encoder's.

An encoder blurs what it has not learned to tell apart, above all in long texts of one field, where a few rare words say
what they are about. How much the words count is chosen by what is known: the coarse labels. N texts, D dimensions,
W word dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from torch import Tensor

from subtaxa.runtime.arrays import Floats, unit

BLOCK_CELLS = 4_000_000  # similarities held at once: 16 MB of float32
DIMENSIONS = 96
COMMON = 0.1  # a word in more than this share of the texts tells nothing
MOST_TERMS = 200_000  # words and pairs of words, the most frequent
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # that are tried
NEAREST = 10  # neighbours looked at, of
SAMPLE = 2000  # texts


@dataclass(frozen=True)
class Vocabulary:
    """The words and pairs of words that tell texts apart, and how they are condensed: it reads further texts, too."""

    terms: tuple[str, ...]  # V of them
    common: tuple[str, ...]  # words that are left out
    rarity: NDArray[np.float64]  # (V,)
    axes: Floats  # (W, V)
    weight: float = 0.0  # how much the words count beside the encoder's features

    @property
    def width(self) -> int:
        """W"""
        return len(self.axes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as arrays, to be saved."""
        lists = {"terms": self.terms, "common": self.common}  # no word has a line break in it
        texts = {name: np.frombuffer("\n".join(some).encode(), dtype=np.uint8) for name, some in lists.items()}
        return {**texts, "rarity": self.rarity, "axes": self.axes, "weight": np.array([self.weight])}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """Take back what `arrays` gave; a ValueError or KeyError if it was something else."""
        terms, common = (arrays[name].tobytes().decode().split("\n") for name in ("terms", "common"))
        weight = float(arrays["weight"][0])
        words = cls(tuple(terms), tuple(filter(None, common)), arrays["rarity"], arrays["axes"], weight)
        words.rows(["the parts must fit together"])
        return words

    @cached_property
    def reader(self) -> TfidfVectorizer:
        reader = _terms(self.common, vocabulary=self.terms)
        reader.idf_ = self.rarity
        return reader

    def rows(self, texts: Sequence[str]) -> Floats:
        """Unit rows (n, W) of texts."""
        return unit(self.reader.transform(texts) @ self.axes.T)


def word_features(texts: Sequence[str]) -> tuple[Floats, Vocabulary | None]:
    """Unit rows (N, W): TF-IDF of words and of pairs of successive words, condensed (latent semantic analysis); and
    what reads further texts the same way.

    Common words are left out first, whatever the language, so that a pair may span them. A text without any word that
    another one has too is a row of zeros.
    """
    words = CountVectorizer(binary=True)
    try:
        often = np.asarray(words.fit_transform(texts).sum(0)).ravel()  # in how many texts each word is
        common = words.get_feature_names_out()[often > COMMON * len(texts)].tolist()
        terms = _terms(common, min_df=2, max_features=MOST_TERMS)
        table = terms.fit_transform(texts)  # (N, V), sparse
    except ValueError:  # no words, or none that two texts share
        return np.zeros((len(texts), 1), dtype=np.float32), None
    condensed = TruncatedSVD(min(DIMENSIONS, *table.shape), random_state=0)
    rows = unit(condensed.fit_transform(table))
    axes = condensed.components_.astype(np.float32)
    return rows, Vocabulary(tuple(terms.get_feature_names_out()), tuple(common), terms.idf_, axes)


def _terms(common: Sequence[str], **options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), stop_words=list(common) or None, **options)


def joined(features: Floats, words: Floats, weight: float) -> Floats:
    """Unit rows (N, D + W) that are compared like those of `with_words`."""
    return unit(np.concatenate([features, weight * words], axis=1)) if weight else features


def with_words(features: Tensor, words: Tensor, weight: float) -> Tensor:
    """Rows (N, D + W) whose products are those of the features plus weight² times those of the words."""
    return torch.cat([features, weight * words], dim=1) if weight else features


def word_weight(features: Tensor, words: Tensor, labels: Tensor, limit: float | None = None) -> float:
    """How much the words shall count, by how often the nearest neighbours then carry a text's own coarse label.

    Before training that is the weight with which they do so most often: 0 if words do not help. Training teaches the
    features the labels by heart, the words it does not touch; so later, with a `limit`, words count as much as does no
    harm, up to that limit.
    """
    right = _agreement(features, words, labels)
    if limit is None:
        return WEIGHTS[int(right.argmax())]
    return max(weight for weight, found in zip(WEIGHTS, right, strict=True) if weight <= limit and found >= right[0])


def _agreement(features: Tensor, words: Tensor, labels: Tensor) -> NDArray[np.int64]:
    """How many of some texts' nearest neighbours carry their label, with each of the weights."""
    generator = torch.Generator().manual_seed(0)
    some = torch.randperm(len(features), generator=generator)[:SAMPLE].to(features.device)  # (n,)
    right = np.zeros(len(WEIGHTS), dtype=np.int64)
    for rows in some.split(max(1, BLOCK_CELLS // len(features))):  # (B,)
        by_features, by_words = features[rows] @ features.T, words[rows] @ words.T  # (B, N)
        for i, weight in enumerate(WEIGHTS):
            similarity = by_features + weight**2 * by_words
            similarity.scatter_(1, rows[:, None], -torch.inf)  # not the text itself
            near = similarity.topk(min(NEAREST, len(features) - 1), dim=1).indices  # (B, NEAREST)
            right[i] += int((labels[near] == labels[rows][:, None]).sum())
    return right
