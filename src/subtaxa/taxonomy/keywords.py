"""Keywords: the words and pairs of words that are more frequent in a node than in its competitors."""

from __future__ import annotations

import itertools

import numpy as np

from subtaxa.taxonomy.candidates import NodePhrases

KEYWORDS = 8


def keywords_of(corpus: NodePhrases, node: int) -> tuple[str, ...]:
    """The words and pairs of words with the highest class-based TF-IDF. No two of them share a word."""
    row = corpus.shares[node]
    ids = np.sort(row.indices.astype(np.int64))
    phrases = corpus.phrases
    longest = np.where(corpus.glued[ids], 4, 2)
    ids = ids[(corpus.n_function[ids] == 0) & ~corpus.is_one[ids] & (phrases.length[ids] <= longest)]
    share = np.asarray(row[:, ids].todense()).ravel()
    lift = share / np.maximum(corpus.average(corpus.shares, node)[ids], 1e-9)
    score = share * np.log1p(lift) * (1.0 + 0.4 * (phrases.length[ids] - 1)) * (lift >= 1.0 - 1e-6)
    kept: list[str] = []
    said: list[str] = []
    for i in ids[np.lexsort((ids, -score.round(9)))][: 40 * KEYWORDS]:
        text = phrases.text(int(i))
        words = [phrases.words[u] for u in phrases.units[i] if u >= 0] if not corpus.glued[i] else [text]
        pairs = itertools.chain(itertools.product(words, said), itertools.combinations(words, 2))
        if any(_same(one, other) for one, other in pairs):
            continue
        kept.append(text)
        said += words
        if len(kept) == KEYWORDS:
            break
    return tuple(kept)


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
