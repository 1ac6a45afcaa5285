"""Phrases in the users' own words: runs of successive words, counted in parts of a corpus.

Scripts with spaces have phrases of one to five words. In scripts without spaces, each character is a unit, and a phrase
has up to eight of them. A phrase never spans punctuation, a number, an address or a line break.

n texts, T units in all of them, P parts, V phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from subtaxa.runtime.arrays import Ints
from subtaxa.taxonomy.function_words import function_words
from subtaxa.taxonomy.text_units import TextUnits, are_spaceless, read_units

# The most words and the most characters without spaces that a phrase has.
MAX_WORDS, MAX_CHARACTERS = 5, 8
# The longest phrase, in characters.
MAX_LENGTH = 40
# From this many texts on, a phrase that only one text contains is left out.
MANY_TEXTS = 50


@dataclass(frozen=True)
class Phrases:
    """The phrases of a corpus and the number of texts of each part that contain them."""

    words: tuple[str, ...]  # all units in lower case
    shown: tuple[str, ...]  # the same as most people write them
    units: Ints  # (V, MAX_CHARACTERS) the words of each phrase, then -1
    counts: csr_matrix  # (P, V) the number of texts with the phrase
    word_counts: csr_matrix  # (P, words) the number of texts with the word
    contains: csr_matrix  # (n, words) 1 for the words of each text
    is_function: NDArray[np.bool_]  # (words,)
    opening: NDArray[np.float64]  # (V,) the share of a phrase's occurrences that begin a clause
    closing: NDArray[np.float64]  # (V,) … and that end one
    typical: NDArray[np.bool_]  # (V,) whether a typical text contains the phrase
    whole: NDArray[np.float64]  # (V,) the share of its two ends at which a function word or nothing follows
    open_ends: NDArray[np.float64]  # (V,) the share of its two ends at which it is cut off from a word tied to it

    @cached_property
    def length(self) -> Ints:
        """The number of units of each phrase (V,)."""
        return (self.units >= 0).sum(1)

    @cached_property
    def spaceless(self) -> NDArray[np.bool_]:
        """Which words are characters of a script without spaces."""
        return are_spaceless(self.words)

    def text(self, phrase: int, *, lower: bool = False) -> str:
        """A phrase as people write it, or in lower case."""
        words, text = self.words if lower else self.shown, ""
        ids = [i for i in self.units[phrase].tolist() if i >= 0]
        for before, i in zip([-1, *ids], ids, strict=False):
            glued = before < 0 or (self.spaceless[before] and self.spaceless[i])
            text += words[i] if glued else f" {words[i]}"
        return text


def count_phrases(
    texts: Sequence[str], parts: Ints, part_labels: Ints, typical: NDArray[np.bool_] | None = None
) -> Phrases:
    """Count the phrases of the texts, once per text. `parts` (n,) has the part of each text, `part_labels` (P,).

    Among many texts, a phrase must occur in two of them. In `typical` texts (n,), it is enough that each of its words
    does.
    """
    corpus, n_parts = read_units(texts), len(part_labels)
    fewest = 2 if len(texts) >= MANY_TEXTS else 1
    is_typical = (np.zeros(len(texts), dtype=np.bool_) if typical is None else typical)[corpus.owner]  # (T,)
    words = _pairs(corpus.owner, corpus.ids, len(corpus.words))
    word_counts = _table([parts[words[:, 0]]], [words[:, 1]], (n_parts, len(corpus.words)))
    is_function = function_words(corpus.words, word_counts, np.bincount(parts, minlength=n_parts), part_labels)
    closes, opens = corpus.borders(is_function)
    after = corpus.ties
    before = np.append(False, after)[: len(after)]
    known = np.bincount(words[:, 1], minlength=len(corpus.words)) >= fewest
    units, rows, columns = [np.empty((0, MAX_CHARACTERS), dtype=np.int64)], [], []
    runs, n_phrases = _Runs.of(corpus).known(corpus, known, 1), 0
    from_typical, whole, open_ends = [np.empty(0, dtype=np.bool_)], [np.empty(0)], [np.empty(0)]
    opening, closing = [np.empty(0)], [np.empty(0)]
    for length in range(1, MAX_CHARACTERS + 1):
        runs = runs.longer(corpus, length).known(corpus, known, length) if length > 1 else runs
        if not len(runs.start):
            break
        _, first, code = np.unique(runs.code, return_index=True, return_inverse=True)
        pairs = _pairs(corpus.owner[runs.start], code, len(first))  # texts and phrases
        shown = np.bincount(code, is_typical[runs.start], len(first)) > 0
        kept = (np.bincount(pairs[:, 1], minlength=len(first)) >= fewest) | shown
        new = np.cumsum(kept) - 1  # the numbers of the phrases that are kept
        some = np.full((int(kept.sum()), MAX_CHARACTERS), -1, dtype=np.int64)
        some[:, :length] = corpus.ids[runs.start[first[kept]][:, None] + np.arange(length)]
        units.append(some)
        from_typical.append(shown[kept])
        begin, end = runs.start, runs.start + length - 1
        whole.append(_mean(code, 0.5 * opens[begin] + 0.5 * closes[end])[kept])
        open_ends.append(_mean(code, 0.5 * before[begin] + 0.5 * after[end])[kept])
        opening.append(_mean(code, corpus.opens[begin])[kept])
        closing.append(_mean(code, corpus.ends_clause[end])[kept])
        pairs = pairs[kept[pairs[:, 1]]]
        rows.append(parts[pairs[:, 0]])
        columns.append(new[pairs[:, 1]] + n_phrases)
        n_phrases += len(some)
        # The beginning of a phrase that is kept is kept.
        runs = replace(runs, code=new[code]).select(kept[code])
    return Phrases(
        words=corpus.words,
        shown=corpus.shown,
        units=np.concatenate(units),
        counts=_table(rows, columns, (n_parts, n_phrases)),
        word_counts=word_counts,
        contains=_table([words[:, 0]], [words[:, 1]], (len(texts), len(corpus.words))),
        is_function=is_function,
        opening=np.concatenate(opening),
        closing=np.concatenate(closing),
        typical=np.concatenate(from_typical),
        whole=np.concatenate(whole),
        open_ends=np.concatenate(open_ends),
    )


@dataclass(frozen=True)
class _Runs:
    """All occurrences of phrases of one length."""

    start: Ints  # the position of the first unit
    code: Ints  # equal for occurrences of one phrase
    characters: Ints  # the length as text

    @classmethod
    def of(cls, corpus: TextUnits) -> _Runs:
        """The single units. Very long ones are left out."""
        start = np.arange(len(corpus.ids))
        runs = cls(start, corpus.ids, corpus.size[corpus.ids])
        return runs.select(runs.characters <= MAX_LENGTH)

    def longer(self, corpus: TextUnits, length: int) -> _Runs:
        """The occurrences that go on, with one more unit."""
        spaceless, end = corpus.spaceless[corpus.ids], self.start + length - 1
        inside = end < len(corpus.ids)
        runs, end = self.select(inside), end[inside]
        enough = length <= np.where(spaceless[runs.start] & spaceless[end], MAX_CHARACTERS, MAX_WORDS)
        going_on = corpus.follows[end] & enough
        runs, end = runs.select(going_on), end[going_on]
        gap = ~(spaceless[end] & spaceless[end - 1])
        characters = runs.characters + corpus.size[corpus.ids[end]] + gap
        longer = _Runs(runs.start, runs.code * len(corpus.words) + corpus.ids[end], characters)
        return longer.select(characters <= MAX_LENGTH)

    def known(self, corpus: TextUnits, known: NDArray[np.bool_], length: int) -> _Runs:
        """The occurrences whose last word is known."""
        return self.select(known[corpus.ids[self.start + length - 1]])

    def select(self, kept: NDArray[np.bool_]) -> _Runs:
        """Some of the occurrences."""
        return _Runs(self.start[kept], self.code[kept], self.characters[kept])


def _pairs(row: Ints, column: Ints, n_columns: int) -> Ints:
    """The distinct pairs (m, 2) of a row and a column."""
    return np.stack(np.divmod(np.unique(row * n_columns + column), max(n_columns, 1)), 1)


def _mean(code: Ints, values: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean of the values of each code."""
    return np.asarray(np.bincount(code, values) / np.bincount(code))


def _table(rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> csr_matrix:
    row = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    column = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    return coo_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape).tocsr()
