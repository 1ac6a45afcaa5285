"""Names and keywords: phrases in the users' own words that are typical of a node and tell it from its competitors.

A node is a category, or a set of categories in a tree. Texts are counted once, in the parts that nodes consist of. The
name of a node depends on its own texts and on its competitors, so it is the same in every cut of a tree.

n texts, P parts, G nodes, V phrases, D dimensions.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrase_space import Embed, Judge, Space
from subtaxa.taxonomy.phrases import Phrases, count_phrases

Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]

KEYWORDS = 8
# The number of phrases of each node that are embedded, and of all nodes together.
SHORTLIST, MAX_EMBEDDED = 24, 8_000
# Phrases of this many texts next to the centroid of a node can be its name even if no other text has them, if at least
# this share of the node's texts have one of their words.
TYPICAL, MIN_WORD_SHARE = 16, 0.05
# Any other phrase occurs in at least this share of a node's texts, and in at least two of them if there are enough.
MIN_SHARE = 0.01
ENOUGH_TEXTS = 10
# A function word says something if it is this many times as frequent as in the node's competitors on average and in
# all texts ("turn off"), and occurs in at least this share of the node's texts.
MIN_LIFT, MIN_STRONG_SHARE = 3.0, 0.05
# It may then begin or end a name if this share of the phrase's occurrences begin or end a clause, or if most texts of
# the node have it.
MIN_BORDER, CERTAIN = 0.4, 0.75
# The weight of each part of a phrase's score. They were chosen on HWU64 and the example (research/notebook.md).
CONFUSION, TEMPERATURE = 0.6, 0.1
FREQUENCY, WORD_FREQUENCY = 0.02, 0.03
ONE_WORD, LONG, FUNCTION_WORD, WHOLE, OPENING = 0.12, 0.01, 0.035, 0.06, 0.05
# Added to shares, so that phrases absent from a competitor can be compared.
SMOOTH = 0.01


@dataclass(frozen=True)
class Words:
    """The name of a node and its keywords."""

    name: str
    keywords: tuple[str, ...]


def name_categories(
    texts: Sequence[str],
    assignment: Ints,
    parents: Ints,
    features: Floats | None = None,
    embed: Embed | None = None,
    wanted: Collection[int] | None = None,
) -> list[Words]:
    """A name and keywords for each category. No two categories of one label share a name. See `name_nodes`."""
    return name_nodes(texts, assignment, Nodes.flat(parents), features, embed, wanted)


def name_nodes(
    texts: Sequence[str],
    parts: Ints,
    nodes: Nodes,
    features: Floats | None = None,
    embed: Embed | None = None,
    wanted: Collection[int] | None = None,
) -> list[Words]:
    """A name and keywords for each node (G).

    No two nodes share a name if they belong to one label and have no text in common. `parts` (n,) has the part of each
    text. `embed` computes the features of phrases, comparable with the `features` (n, D) of the texts; without it,
    names are chosen by frequencies alone. Nodes that are not `wanted` get an empty name.
    """
    space = None if embed is None or features is None or not len(texts) else Space.of(features, parts, nodes)
    typical = None if space is None else space.typical_texts(TYPICAL)
    phrases = count_phrases(texts, parts, nodes.part_labels, typical)
    corpus = _Corpus(phrases, np.bincount(parts, minlength=nodes.n_parts), nodes)
    chosen = list(range(len(nodes))) if wanted is None else sorted(wanted)
    by_words = None if space is None else space.judge_by_words(phrases)
    found = {node: corpus.candidates(node, by_words) for node in chosen}
    judge = None
    if space is not None and embed is not None and by_words is not None:
        judge = space.judge_by_both([found[node].phrases for node in chosen], phrases, embed, by_words, MAX_EMBEDDED)
    names = [""] * len(nodes)
    # Large nodes choose first. Equal ones are told apart by their number.
    for node in sorted(chosen, key=lambda node: (-corpus.sizes[node], node)):
        candidates = found[node]
        scores = corpus.scores(node, candidates, judge)
        taken = {names[other].casefold() for other in corpus.nodes.conflicts(node)} - {""}
        names[node] = _best(corpus, candidates, scores, taken, f"category {1 + nodes.place(node)}")
    return [Words(names[node], corpus.keywords(node)) for node in range(len(nodes))]


@dataclass(frozen=True)
class _Candidates:
    """The shortlist of a node: phrases and the share of the node's texts that contain them."""

    phrases: Ints  # (m,)
    shares: Scores  # (m,)
    tfidf: Scores  # (m,)
    n_weak: Ints  # (m,) the number of function words that do not distinguish the node

    def select(self, some: Ints | Mask) -> _Candidates:
        """Some of the candidates."""
        return _Candidates(self.phrases[some], self.shares[some], self.tfidf[some], self.n_weak[some])


class _Corpus:
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
        self.last = units[np.arange(len(units)), phrases.length - 1]
        # A single character of a script without spaces is seldom a word.
        letter = np.array([len(word) == 1 for word in phrases.words], dtype=bool)
        self.is_one = np.where(phrases.spaceless[self.first] if len(units) else False, phrases.length, 2) == 1
        self.is_one |= (phrases.length == 1) & letter[self.first]
        self.is_letter = letter & ~phrases.spaceless
        counts = ~padding & ~(self.is_function | phrases.spaceless)[units]
        told = np.sort(np.where(counts, units, -1 - np.arange(units.shape[1])), axis=1)
        self.repeats = (told[:, 1:] == told[:, :-1]).any(1)  # A content word occurs twice.

    def candidates(self, node: int, judge: Judge | None) -> _Candidates:
        """The best phrases of a node by their words. Without a judge, those with the highest class-based TF-IDF."""
        row = self.shares[node]
        ids, share = row.indices.astype(np.int64), self._covering(node, row)
        order = np.argsort(ids)
        ids, share = ids[order], share[order]
        average = self._average(self.shares, node)[ids]
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
        # In a small node, frequencies do not show that function words alone say something.
        tidy &= (n_content > 0) | ((n_strong > 1) & (size >= ENOUGH_TEXTS))
        for kept in (tidy & often, tidy, often & (n_content > 0) & ~self.is_one[ids]):
            if kept.any():
                break
        found = _Candidates(ids, share, tfidf, n_weak).select(kept)
        score = found.tfidf if judge is None else self.scores(node, found, judge)
        return found.select(np.lexsort((found.phrases, -score.round(9)))[:SHORTLIST])

    def scores(self, node: int, candidates: _Candidates, judge: Judge | None) -> Scores:
        """How good a name each candidate is (m,)."""
        ids, share = candidates.phrases, candidates.shares
        others, children = self.nodes.competitors(node), self.nodes.children(node)
        score = FREQUENCY * np.log(np.maximum(share, 1e-9))
        n_strong = self.phrases.length[ids] - candidates.n_weak
        n_words = np.where(self.phrases.spaceless[self.first[ids]], n_strong / 2, n_strong)
        score -= ONE_WORD * (n_strong <= 1) + LONG * np.maximum(n_words - 3, 0) + FUNCTION_WORD * self.n_function[ids]
        score += WHOLE * self.phrases.whole[ids] + OPENING * self.phrases.opening[ids]
        score += WORD_FREQUENCY * self._words_are_frequent(node, ids)
        if judge is None or not len(ids):
            return score + candidates.tfidf / max(float(candidates.tfidf.max(initial=0.0)), 1e-9)
        cosines = judge.cosines(ids, np.concatenate([[node], children, others]))  # (m, 1 + children + others)
        own, other = cosines[:, 0], cosines[:, 1 + len(children) :]
        if len(children):  # A name covers both children.
            own = (own + cosines[:, 1 : 1 + len(children)].min(1)) / 2
        # The negative logarithm of the node's probability among its competitors, in units of the cosine.
        doubt = TEMPERATURE * np.log1p(np.exp((other - own[:, None]) / TEMPERATURE).sum(1))
        return score + own - CONFUSION * doubt

    def keywords(self, node: int) -> tuple[str, ...]:
        """The words and pairs of words with the highest class-based TF-IDF. No two of them share a word."""
        row = self.shares[node]
        ids = np.sort(row.indices.astype(np.int64))
        phrases = self.phrases
        spaceless = phrases.spaceless[self.first[ids]]
        fits = (self.n_function[ids] == 0) & ~self.is_one[ids] & (phrases.length[ids] <= np.where(spaceless, 4, 2))
        ids = ids[fits]
        share = np.asarray(row[:, ids].todense()).ravel()
        lift = share / np.maximum(self._average(self.shares, node)[ids], 1e-9)
        score = share * np.log1p(lift) * (1.0 + 0.4 * (phrases.length[ids] - 1)) * (lift >= 1.0 - 1e-6)
        kept: list[str] = []
        said: list[str] = []
        for i in ids[np.lexsort((ids, -score.round(9)))][: 40 * KEYWORDS]:
            text = phrases.text(int(i))
            words = [phrases.words[u] for u in phrases.units[i] if u >= 0] if not self._glued(i) else [text]
            pairs = itertools.chain(itertools.product(words, said), itertools.combinations(words, 2))
            if any(_same(one, other) for one, other in pairs):
                continue
            kept.append(text)
            said += words
            if len(kept) == KEYWORDS:
                break
        return tuple(kept)

    def _words_are_frequent(self, node: int, ids: Ints) -> Scores:
        """The mean logarithm (m,) of the share of the node's texts that contain a content word of each phrase."""
        share = np.log(np.asarray(self.word_shares[node].todense(), dtype=np.float64).ravel() + SMOOTH)
        units = self.phrases.units[ids]  # (m, MAX_CHARACTERS)
        counts = (units >= 0) & ~self.is_function[units]
        return np.asarray((share[units] * counts).sum(1) / np.maximum(counts.sum(1), 1))

    def _glued(self, phrase: int) -> bool:
        return bool(self.phrases.spaceless[self.first[phrase]])

    def _covering(self, node: int, row: csr_matrix) -> Scores:
        """The share of the texts with each phrase. A phrase that one of two children lacks counts half."""
        share: Scores = row.data.astype(np.float64)
        children = self.nodes.children(node)
        if len(children):
            least = np.min([np.asarray(self.shares[c][:, row.indices].todense()).ravel() for c in children], axis=0)
            share = (share + least) / 2
        return share

    def _average(self, table: csr_matrix, node: int) -> Scores:
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


def _best(corpus: _Corpus, candidates: _Candidates, scores: Scores, taken: set[str], otherwise: str) -> str:
    """The candidate with the highest score that is not taken."""
    phrases = corpus.phrases
    texts = [phrases.text(int(i)) for i in candidates.phrases]
    order = sorted(range(len(texts)), key=lambda i: (-round(float(scores[i]), 6), texts[i]))
    for i in order:
        if texts[i].casefold() not in taken:
            return texts[i]
    return fresh_name(texts[order[0]] if order else otherwise, taken)


def fresh_name(name: str, taken: Collection[str]) -> str:
    """The name, followed by a number if it is taken. Capitals make no difference."""
    used = {other.casefold() for other in taken}
    number, fresh = 2, name
    while fresh.casefold() in used:
        fresh, number = f"{name} ({number})", number + 1
    return fresh


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one, such as "alarm" and "alarms", in most scripts."""
    shorter, longer = sorted((one, other), key=len)
    common = _common(shorter, longer)
    return common == len(longer) or (common >= 3 and common >= 0.6 * len(longer)) or (shorter in longer and common >= 2)


def _common(one: str, other: str) -> int:
    """The number of characters at the beginning that two words share."""
    number = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        number += 1
    return number
