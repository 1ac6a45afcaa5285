"""Lexical features: TF-IDF of words and word pairs, reduced by a singular value decomposition.

An encoder blurs differences that it has not learned, above all in long texts of one field, where a few rare words tell
the topics apart. Lexical features complement its features. Their weight is chosen by means of the coarse labels.

N texts, D dimensions of the encoder's features, W lexical dimensions, V terms.
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

from subtaxa.encoders.scripts import words_of
from subtaxa.runtime.arrays import LARGEST, Floats, unit, within

# The number of similarities that are held at once, which is 16 MB of float32.
BLOCK_CELLS = 4_000_000

# The number of lexical dimensions, W.
DIMENSIONS = 96

# Words that occur in more than this share of the texts are left out.
COMMON = 0.1

# The number of terms that are kept, the most frequent ones.
MAX_TERMS = 200_000

# Only the words in this many characters of a text are counted, so that one huge text does not take all memory.
MAX_CHARACTERS = 2**17

# The weights that are tried.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

# A weight is judged by the labels of this many nearest neighbours of a text.
NEAREST = 10

# A weight is judged on a random sample of this many texts.
SAMPLE = 2000


@dataclass(frozen=True)
class Vocabulary:
    """The fitted terms and their projection. It computes the lexical features of new texts."""

    terms: tuple[str, ...]  # V words and word pairs
    common: tuple[str, ...]  # the words that are left out
    rarity: NDArray[np.float64]  # (V,) inverse document frequencies
    axes: Floats  # (W, V)
    weight: float = 0.0  # the weight of the lexical features

    @property
    def width(self) -> int:
        """W, the number of lexical dimensions."""
        return len(self.axes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The vocabulary as arrays, for saving."""
        lists = {"terms": self.terms, "common": self.common}  # No term contains a line break.
        texts = {name: np.frombuffer("\n".join(some).encode(), dtype=np.uint8) for name, some in lists.items()}
        return {**texts, "rarity": self.rarity, "axes": self.axes, "weight": np.array([self.weight])}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """The vocabulary from the result of `arrays`. Other arrays raise a ValueError or a KeyError."""
        terms, common = (arrays[name].tobytes().decode().split("\n") for name in ("terms", "common"))
        weight = float(arrays["weight"][0])
        if not (within(arrays["rarity"], 0, LARGEST) and within(arrays["axes"], -LARGEST, LARGEST)):
            raise ValueError("its numbers are out of range")
        if not 0 <= weight <= max(WEIGHTS):
            raise ValueError(f"the weight is {weight}")
        vocabulary = cls(tuple(terms), tuple(filter(None, common)), arrays["rarity"], arrays["axes"], weight)
        vocabulary.features(["Arrays that do not match raise an error here."])
        return vocabulary

    @cached_property
    def vectorizer(self) -> TfidfVectorizer:
        """The fitted TF-IDF vectorizer."""
        vectorizer = _vectorizer(self.common, vocabulary=self.terms)
        vectorizer.idf_ = self.rarity
        return vectorizer

    def features(self, texts: Sequence[str]) -> Floats:
        """Unit lexical features (n, W) of new texts. A text without a known term is a row of zeros."""
        return unit(self.vectorizer.transform(_beginnings(texts)) @ self.axes.T)


def lexical_features(texts: Sequence[str]) -> tuple[Floats, Vocabulary | None]:
    """Unit lexical features (N, W) of the texts, and the vocabulary that computes those of new texts.

    This is latent semantic analysis: TF-IDF of words and of pairs of successive words, then a truncated singular value
    decomposition. Common words are removed first, in any language, so a pair may span them. In scripts without spaces,
    a few successive characters stand for a word. A text that shares no word
    with another is a row of zeros.
    """
    texts = _beginnings(texts)
    words = CountVectorizer(binary=True, tokenizer=words_of, token_pattern=None)
    try:
        often = np.asarray(words.fit_transform(texts).sum(0)).ravel()  # The number of texts that contain each word.
        common = words.get_feature_names_out()[often > COMMON * len(texts)].tolist()
        terms = _vectorizer(common, min_df=2, max_features=MAX_TERMS)
        table = terms.fit_transform(texts)  # (N, V), sparse
    except ValueError:  # There are no words, or no two texts share one.
        return np.zeros((len(texts), 1), dtype=np.float32), None
    if table.shape[1] < 2:  # a single shared term cannot be condensed any further
        return np.zeros((len(texts), 1), dtype=np.float32), None
    condensed = TruncatedSVD(min(DIMENSIONS, *table.shape), random_state=0)
    rows = unit(condensed.fit_transform(table))
    axes = condensed.components_.astype(np.float32)
    return rows, Vocabulary(tuple(terms.get_feature_names_out()), tuple(common), terms.idf_, axes)


def _beginnings(texts: Sequence[str]) -> list[str]:
    return [text[:MAX_CHARACTERS] for text in texts]


def _vectorizer(common: Sequence[str], **options: Any) -> TfidfVectorizer:
    options |= {"tokenizer": words_of, "token_pattern": None, "stop_words": list(common) or None}
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), **options)


def concatenated(features: Floats, lexical: Floats, weight: float) -> Floats:
    """Features and weighted lexical features side by side, scaled to unit length (N, D + W)."""
    return unit(np.concatenate([features, weight * lexical], axis=1)) if weight else features


def with_lexical(features: Tensor, lexical: Tensor, weight: float) -> Tensor:
    """Rows (N, D + W) whose products are those of the features plus weight² times those of the lexical features."""
    return torch.cat([features, weight * lexical], dim=1) if weight else features


def lexical_weight(features: Tensor, lexical: Tensor, labels: Tensor, limit: float | None = None) -> float:
    """The weight of the lexical features, judged by how many nearest neighbours share a text's coarse label.

    Before training, this is the weight with the most such neighbours, which is 0 if lexical features do not help.
    Training fits the features to the labels but leaves the lexical features as they are. During training, therefore, it
    is the largest weight up to `limit` that does no harm.
    """
    right = _agreement(features, lexical, labels)
    if limit is None:
        return WEIGHTS[int(right.argmax())]
    return max(weight for weight, found in zip(WEIGHTS, right, strict=True) if weight <= limit and found >= right[0])


def _agreement(features: Tensor, lexical: Tensor, labels: Tensor) -> NDArray[np.int64]:
    """For each weight, how many nearest neighbours of a sample of the texts share their label."""
    lexical, labels = lexical.to(features.device), labels.to(features.device)
    generator = torch.Generator().manual_seed(0)
    some = torch.randperm(len(features), generator=generator)[:SAMPLE].to(features.device)  # (n,)
    right = np.zeros(len(WEIGHTS), dtype=np.int64)
    for rows in some.split(max(1, BLOCK_CELLS // len(features))):  # (B,)
        by_features, by_words = features[rows] @ features.T, lexical[rows] @ lexical.T  # (B, N)
        for i, weight in enumerate(WEIGHTS):
            similarity = by_features + weight**2 * by_words
            similarity.scatter_(1, rows[:, None], -torch.inf)  # A text is not its own neighbour.
            near = similarity.topk(min(NEAREST, len(features) - 1), dim=1).indices  # (B, NEAREST)
            right[i] += int((labels[near] == labels[rows][:, None]).sum())
    return right
