"""Phrases among the features of the texts: how similar each is to the centroids of nodes.

All phrases are judged by the vectors of their words; the encoder embeds only the best of each node.

n texts, P parts, G nodes, L labels, V phrases, W words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

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

    def contrasts(self, phrases: Ints, node: int) -> Scores:
        """The cosine (m,) of each phrase and what tells the centroid of a node from the mean of its label."""


@dataclass(frozen=True)
class Space:
    """The texts and the centroids of nodes."""

    features: Floats  # (n, D)
    parts: Ints  # (n,)
    nodes: Nodes
    centroids: Floats  # (G, D)
    offsets: Floats  # (G, D) from the mean of the label to that of the node, scaled to unit length

    @classmethod
    def of(cls, features: Floats, parts: Ints, nodes: Nodes) -> Space:
        """The space of texts whose parts are known."""
        mean, sizes = means(features, parts, nodes.n_parts)
        own = _per_text(nodes.covers, mean, sizes)  # (G, D)
        labels, number = np.unique(nodes.part_labels, return_inverse=True)
        of_label = csr_matrix((np.ones(len(number)), (number, np.arange(len(number)))))  # (L, P)
        label = _per_text(of_label, mean, sizes)[np.searchsorted(labels, nodes.labels)]  # (G, D)
        return cls(features, parts, nodes, unit(own), unit(own - label))

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
        return _ByWords(phrases, word_vectors(phrases.contains, self.features), self.centroids, self.offsets)

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
        vectors = unit(embed([phrases.text(int(i)) for i in ids]))
        return _ByBoth(ids, vectors, self.centroids, self.offsets, by_words)


def _per_text(covers: csr_matrix, mean: NDArray[np.float64], sizes: Ints) -> NDArray[np.float64]:
    """The mean of the texts in the parts that each row covers, given that of each part."""
    return np.asarray((covers @ (mean * sizes[:, None])) / np.maximum(covers @ sizes, 1)[:, None])


@dataclass(frozen=True)
class _ByWords:
    phrases: Phrases
    vectors: Floats  # (W, D)
    centroids: Floats  # (G, D)
    offsets: Floats  # (G, D)

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        return self._towards(phrases, self.centroids[nodes])

    def contrasts(self, phrases: Ints, node: int) -> Scores:
        return self._towards(phrases, self.offsets[node : node + 1])[:, 0]

    def _towards(self, phrases: Ints, targets: Floats) -> Scores:
        """The cosines (m, g) of phrases and targets (g, D)."""
        units = self.phrases.units[phrases]  # (m, MAX_CHARACTERS)
        found = np.empty((len(units), len(targets)))
        for begin in range(0, len(units), CHUNK):
            some = units[begin : begin + CHUNK]
            total = self.vectors[some[:, 0]]  # (c, D)
            for column in range(1, int((some >= 0).sum(1).max())):
                inside = np.flatnonzero(some[:, column] >= 0)
                total[inside] += self.vectors[some[inside, column]]
            found[begin : begin + CHUNK] = unit(total) @ targets.T
        return found


@dataclass(frozen=True)
class _ByBoth:
    """Phrases that were not embedded have -1 everywhere."""

    phrases: Ints  # (v,) sorted
    vectors: Floats  # (v, D)
    centroids: Floats  # (G, D)
    offsets: Floats  # (G, D)
    by_words: Judge

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        return self._mixed(phrases, self.centroids[nodes], self.by_words.cosines(phrases, nodes))

    def contrasts(self, phrases: Ints, node: int) -> Scores:
        by_words = self.by_words.contrasts(phrases, node)
        return self._mixed(phrases, self.offsets[node : node + 1], by_words[:, None])[:, 0]

    def _mixed(self, phrases: Ints, targets: Floats, by_words: Scores) -> Scores:
        """The mean of the encoder's cosines (m, g) of phrases and targets (g, D) and those by words."""
        place = np.searchsorted(self.phrases, phrases).clip(max=len(self.phrases) - 1)
        known = (self.phrases[place] == phrases)[:, None]
        cosines = self.vectors[place].astype(np.float64) @ targets.T
        return np.where(known, ENCODER * cosines + (1 - ENCODER) * by_words, -1.0)
