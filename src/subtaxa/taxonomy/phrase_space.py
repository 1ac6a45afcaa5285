"""Phrases among the features of the texts: how similar each is to the centroids of nodes.

All phrases are judged by the vectors of their words; the encoder embeds only the best of each node.

n texts, P parts, G nodes, V phrases, W words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subtaxa.runtime.arrays import Floats, Ints, means, unit
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrases import Phrases
from subtaxa.taxonomy.word_vectors import word_vectors

Embed = Callable[[Sequence[str]], Floats]
Scores = NDArray[np.float64]
# The weight of the encoder's cosines; the rest is that of the words'.
ENCODER = 0.6
# This many phrases are judged at once.
CHUNK = 4096


class Judge(Protocol):
    """Compares phrases with nodes."""

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        """The cosines (m, g) of phrases and the centroids of nodes."""


@dataclass(frozen=True)
class Space:
    """The texts and the centroids of nodes."""

    features: Floats  # (n, D)
    parts: Ints  # (n,)
    nodes: Nodes
    centroids: Floats  # (G, D)

    @classmethod
    def of(cls, features: Floats, parts: Ints, nodes: Nodes) -> Space:
        """The space of texts whose parts are known."""
        mean, sizes = means(features, parts, nodes.n_parts)
        return cls(features, parts, nodes, unit(nodes.covers @ (mean * sizes[:, None])))

    def typical_texts(self, number: int) -> NDArray[np.bool_]:
        """Which texts (n,) are among the `number` nearest to the centroid of a node that they belong to."""
        order = np.argsort(self.parts, kind="stable")
        begin = np.searchsorted(self.parts[order], np.arange(self.nodes.n_parts + 1))
        found = np.zeros(len(self.parts), dtype=np.bool_)
        for node, centroid in enumerate(self.centroids):
            parts = self.nodes.covers[node].indices
            members = np.concatenate([order[begin[part] : begin[part + 1]] for part in parts])
            similarity = self.features[members] @ centroid
            found[members[np.argsort(-similarity.round(6), kind="stable")[:number]]] = True
        return found

    def judge_by_words(self, phrases: Phrases) -> Judge:
        """A judge that knows all phrases by their words."""
        return _ByWords(phrases, word_vectors(phrases.contains, self.features), self.centroids)

    def judge_by_both(self, lists: Sequence[Ints], phrases: Phrases, embed: Embed, by_words: Judge, most: int) -> Judge:
        """A judge that embeds the phrases of some lists, and asks the judge by words too.

        The encoder knows the language and the words know the corpus; their mean is better than each of them. Long lists
        are cut so that at most `most` phrases are embedded.
        """
        length = max(map(len, lists), default=0)
        if not length:
            return by_words
        while len(ids := np.unique(np.concatenate([some[:length] for some in lists]))) > most and length > 1:
            length = max(1, int(length * 0.8))
        return _ByBoth(ids, unit(embed([phrases.text(int(i)) for i in ids])), self.centroids, by_words)


@dataclass(frozen=True)
class _ByWords:
    phrases: Phrases
    vectors: Floats  # (W, D)
    centroids: Floats  # (G, D)

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        units, targets = self.phrases.units[phrases], self.centroids[nodes].T  # (m, MAX_CHARACTERS), (D, g)
        found = np.empty((len(units), len(nodes)))
        for begin in range(0, len(units), CHUNK):
            some = units[begin : begin + CHUNK]
            total = self.vectors[some[:, 0]]  # (c, D)
            for column in range(1, int((some >= 0).sum(1).max())):
                inside = np.flatnonzero(some[:, column] >= 0)
                total[inside] += self.vectors[some[inside, column]]
            found[begin : begin + CHUNK] = unit(total) @ targets
        return found


@dataclass(frozen=True)
class _ByBoth:
    phrases: Ints  # (v,) sorted
    vectors: Floats  # (v, D)
    centroids: Floats  # (G, D)
    by_words: Judge

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        """Phrases that were not embedded have -1 everywhere."""
        place = np.searchsorted(self.phrases, phrases).clip(max=len(self.phrases) - 1)
        known = (self.phrases[place] == phrases)[:, None]
        cosines = self.vectors[place].astype(np.float64) @ self.centroids[nodes].T  # (m, g)
        return np.where(known, ENCODER * cosines + (1 - ENCODER) * self.by_words.cosines(phrases, nodes), -1.0)
