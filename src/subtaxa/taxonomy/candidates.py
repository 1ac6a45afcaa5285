"""Candidates for the name of a node, and how good a name each of them is.

P parts, G nodes, V phrases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from subtaxa.runtime.arrays import Ints
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrase_space import Judge
from subtaxa.taxonomy.phrases import Phrases

Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The number of phrases of each node that are embedded, and of all nodes together.
SHORTLIST, MAX_EMBEDDED = 24, 8_000
# Phrases of this many texts next to the centroid of a node can be its name even if no other text has them, if at least
# this share of the node's texts have one of their words.
TYPICAL, MIN_WORD_SHARE = 16, 0.05
# Any other phrase occurs in at least this share of a node's texts, and in at least two of them if there are enough.
MIN_SHARE = 0.01
ENOUGH_TEXTS = 10
# Each content word of a name occurs in at least this share of the node's texts.
MIN_CONTENT_SHARE = 0.02
# A function word says something if it is this many times as frequent as in the node's competitors on average and in
# all texts ("turn off"), and occurs in at least this share of the node's texts.
MIN_LIFT, MIN_STRONG_SHARE = 3.0, 0.05
# It may then begin or end a name if this share of the phrase's occurrences begin or end a clause, or if most texts of
# the node have it.
MIN_BORDER, CERTAIN = 0.4, 0.75
# The weight of each part of a phrase's score. They were chosen on HWU64 and the example (research/notebook.md).
CONFUSION, TEMPERATURE, CONTRAST = 0.7, 0.1, 0.05
FREQUENCY, WORD_FREQUENCY = 0.02, 0.03
ONE_WORD, LONG, FUNCTION_WORD, WHOLE, OPENING = 0.14, 0.01, 0.035, 0.06, 0.05
OPEN_END = 0.3
# A phrase is cut off if at least this share of the texts that contain it go on with function words, before or after it.
# The longer phrase is the name if its score is at most this much lower ("when was … born" for "born").
MIN_CONTINUED, NEARLY = 0.5, 0.1
# Added to shares, so that phrases absent from a competitor can be compared.
SMOOTH = 0.01


@dataclass(frozen=True)
class Candidates:
    """The shortlist of a node: phrases and the share of the node's texts that contain them."""

    phrases: Ints  # (m,)
    shares: Scores  # (m,)
    tfidf: Scores  # (m,)
    n_weak: Ints  # (m,) the number of function words that do not distinguish the node

    def select(self, some: Ints | Mask) -> Candidates:
        """Some of the candidates."""
        return Candidates(self.phrases[some], self.shares[some], self.tfidf[some], self.n_weak[some])


class NodePhrases:
    """The phrases of all nodes, and how frequent they are."""

    def __init__(self, phrases: Phrases, part_sizes: Ints, nodes: Nodes) -> None:
        self.phrases, self.nodes = phrases, nodes
        self.sizes = nodes.covers @ part_sizes  # (G,)
        per_text = diags(1.0 / np.maximum(self.sizes, 1))
        self.shares: csr_matrix = (per_text @ (nodes.covers @ phrases.counts)).tocsr()  # (G, V)
        self.word_shares: csr_matrix = (per_text @ (nodes.covers @ phrases.word_counts)).tocsr()  # (G, words)
        self.word_counts = np.asarray(phrases.word_counts.sum(0), dtype=np.float64).ravel()  # (words,)
        self.n_texts = float(part_sizes.sum())
        self.is_function = phrases.is_function
        units, padding = phrases.units, phrases.units < 0  # (V, MAX_CHARACTERS)
        self.n_function = (self.is_function[units] & ~padding).sum(1) if len(units) else np.empty(0, dtype=np.int64)
        self.n_content = phrases.length - self.n_function
        self.first = units[:, 0]
        self.glued = phrases.spaceless[self.first] if len(units) else np.empty(0, dtype=np.bool_)  # (V,)
        self.last = units[np.arange(len(units)), phrases.length - 1]
        # A single character of a script without spaces is seldom a word.
        letter = np.array([len(word) == 1 for word in phrases.words], dtype=bool)
        self.is_one = np.where(self.glued, phrases.length, 2) == 1
        self.is_one |= (phrases.length == 1) & letter[self.first]
        self.is_letter = letter & ~phrases.spaceless
        counts = ~padding & ~(self.is_function | phrases.spaceless)[units]
        told = np.sort(np.where(counts, units, -1 - np.arange(units.shape[1])), axis=1)
        self.repeats = (told[:, 1:] == told[:, :-1]).any(1)  # A content word occurs twice.

    def candidates(self, node: int, judge: Judge | None) -> Candidates:
        """The best phrases of a node by their words. Without a judge, those with the highest class-based TF-IDF."""
        row = self.shares[node]
        ids, share = row.indices.astype(np.int64), self._covering(node, row)
        order = np.argsort(ids)
        ids, share = ids[order], share[order]
        average = self.average(self.shares, node)[ids]
        units = self.phrases.units[ids]
        content = ~self.is_function & ~self.is_letter
        tells, certain = self._telling(node)
        strong, sure = content | tells, content | certain
        may_begin = sure[self.first[ids]] | (tells[self.first[ids]] & (self.phrases.opening[ids] >= MIN_BORDER))
        may_end = sure[self.last[ids]] | (tells[self.last[ids]] & (self.phrases.closing[ids] >= MIN_BORDER))
        n_weak = (~strong[units] & (units >= 0)).sum(1)
        n_strong = self.phrases.length[ids] - n_weak
        length = 1.0 + 0.4 * np.clip(n_strong - 1, 0, 2)
        tfidf = share * np.log1p(1.0 / np.maximum(average, 1e-9)) * length
        size, n_content = float(self.sizes[node]), self.n_content[ids]
        often = share * size >= (max(2.0, MIN_SHARE * size) if size >= ENOUGH_TEXTS else 1.0) - 1e-6
        word_share = np.asarray(self.word_shares[node].todense()).ravel()
        frequent = (word_share >= MIN_WORD_SHARE) & ~self.is_function
        often |= self.phrases.typical[ids] & (frequent[units] & (units >= 0)).any(1)
        tidy = may_begin & may_end & ~self.is_one[ids] & ~self.repeats[ids]
        rare = (word_share < MIN_CONTENT_SHARE - 1e-6) & ~self.is_function
        tidy &= ~(rare[units] & (units >= 0)).any(1)
        # In a small node, frequencies do not show that function words alone say something.
        tidy &= (n_content > 0) | ((n_strong > 1) & (size >= ENOUGH_TEXTS))
        for kept in (tidy & often, tidy, often & (n_content > 0) & ~self.is_one[ids]):
            if kept.any():
                break
        found = Candidates(ids, share, tfidf, n_weak).select(kept)
        score = found.tfidf if judge is None else self.scores(node, found, judge)
        return found.select(np.lexsort((found.phrases, -score.round(9)))[:SHORTLIST])

    def scores(self, node: int, candidates: Candidates, judge: Judge | None) -> Scores:
        """How good a name each candidate is (m,)."""
        ids, share = candidates.phrases, candidates.shares
        others, children = self.nodes.competitors(node), self.nodes.children(node)
        score = FREQUENCY * np.log(np.maximum(share, 1e-9))
        n_strong = self.phrases.length[ids] - candidates.n_weak
        n_words = np.where(self.glued[ids], n_strong / 2, n_strong)
        score -= ONE_WORD * (n_strong <= 1) + LONG * np.maximum(n_words - 3, 0) + FUNCTION_WORD * self.n_function[ids]
        score += WHOLE * self.phrases.whole[ids] + OPENING * self.phrases.opening[ids]
        score -= OPEN_END * self.phrases.open_ends[ids]
        score += WORD_FREQUENCY * self._words_are_frequent(node, ids)
        if judge is None or not len(ids):
            return score + candidates.tfidf / max(float(candidates.tfidf.max(initial=0.0)), 1e-9)
        cosines = judge.cosines(ids, np.concatenate([[node], children, others]))  # (m, 1 + children + others)
        own, other = cosines[:, 0], cosines[:, 1 + len(children) :]
        if len(children):  # A name covers both children.
            own = (own + cosines[:, 1 : 1 + len(children)].min(1)) / 2
        # The negative logarithm of the node's probability among its competitors, in units of the cosine.
        doubt = TEMPERATURE * np.log1p(np.exp((other - own[:, None]) / TEMPERATURE).sum(1))
        return score + own - CONFUSION * doubt + CONTRAST * judge.contrasts(ids, node)

    def completed(self, candidates: Candidates, scores: Scores, best: int) -> int:
        """The candidate that has the best one and the function words it is cut off from, or the best one."""
        nearly = (scores >= scores[best] - NEARLY) & (candidates.shares >= MIN_CONTINUED * candidates.shares[best])
        inner = self._units_of(candidates.phrases[best])
        found = best
        for i in np.flatnonzero(nearly).tolist():
            units = self._units_of(candidates.phrases[i])
            begins = [k for k in range(len(units) - len(inner) + 1) if units[k : k + len(inner)] == inner]
            if i == best or not begins:
                continue
            added = units[: begins[0]] + units[begins[0] + len(inner) :]
            if self.is_function[added].all() and (found == best or scores[i] > scores[found]):
                found = i
        return found

    def _units_of(self, phrase: int) -> list[int]:
        return [unit for unit in self.phrases.units[phrase].tolist() if unit >= 0]

    def _words_are_frequent(self, node: int, ids: Ints) -> Scores:
        """The mean logarithm (m,) of the share of the node's texts that contain a content word of each phrase."""
        share = np.log(np.asarray(self.word_shares[node].todense(), dtype=np.float64).ravel() + SMOOTH)
        units = self.phrases.units[ids]  # (m, MAX_CHARACTERS)
        counts = (units >= 0) & ~self.is_function[units]
        return np.asarray((share[units] * counts).sum(1) / np.maximum(counts.sum(1), 1))

    def _covering(self, node: int, row: csr_matrix) -> Scores:
        """The share of the texts with each phrase. A phrase that one of two children lacks counts half."""
        share: Scores = row.data.astype(np.float64)
        children = self.nodes.children(node)
        if len(children):
            least = np.min([np.asarray(self.shares[c][:, row.indices].todense()).ravel() for c in children], axis=0)
            share = (share + least) / 2
        return share

    def average(self, table: csr_matrix, node: int) -> Scores:
        """The mean share of each phrase or word over the node and its competitors."""
        group = np.append(self.nodes.competitors(node), node)
        return np.asarray(table[group].mean(0), dtype=np.float64).ravel()

    def _telling(self, node: int) -> tuple[Mask, Mask]:
        """Which function words (words,) tell a node from all other texts, and which of them most of its texts have."""
        share = np.asarray(self.word_shares[node].todense(), dtype=np.float64).ravel()
        others, size = self.nodes.competitors(node), float(self.sizes[node])
        if not len(others):
            return np.zeros_like(self.is_function), np.zeros_like(self.is_function)
        elsewhere = (self.word_counts - share * size) / max(self.n_texts - size, 1.0)
        elsewhere = np.maximum(elsewhere, np.asarray(self.word_shares[others].mean(0), dtype=np.float64).ravel())
        tells = (share >= MIN_LIFT * elsewhere) & (share >= MIN_STRONG_SHARE) & self.is_function & ~self.is_letter
        return tells, tells & (share >= CERTAIN)
