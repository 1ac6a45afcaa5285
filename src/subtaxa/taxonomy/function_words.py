"""Function words: words such as "the" or "please" that are frequent everywhere and say nothing about a topic.

They are found in the corpus, in any language. A list of English ones helps where the corpus is small.

P parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from subtaxa.runtime.arrays import Ints

# Words that are missing from scikit-learn's list: contractions and polite phrases.
CHATTER = """
ain't aren't can't cannot couldn't didn't doesn't don't dont hadn't hasn't haven't he'd he's i'd i'll i'm i've im
isn't it'd it'll it's ive let's she's that's there's they're they've wasn't we'd we'll we're we've weren't what's
where's who's won't wont wouldn't you'd you'll you're you've u ur pls plz ok okay hi hey hello dear thanks thank thx
please sorry just really still got get gets getting want wants wanted need needs needed know like would could also
tell say said says does did doing going gonna make one something anything thing things way let use used using come
"""
# Words of scikit-learn's list that say what a text is about.
TOPICS = """
amount bill bottom call computer cry describe detail empty fill find fire found front full interest mill mine move name
serious show side sincere system thick thin top
"""
STOP_WORDS = (frozenset(ENGLISH_STOP_WORDS) - frozenset(TOPICS.split())) | frozenset(CHATTER.split())
# A function word occurs in at least this share of the texts.
MIN_SHARE = 0.004
# Its evenness is at least the first value plus the second divided by the root of the number of parts.
EVEN, FEW_PARTS = 0.25, 0.5


def function_words(words: Sequence[str], counts: csr_matrix, part_sizes: Ints, part_labels: Ints) -> NDArray[np.bool_]:
    """Which words of the corpus are function words. `counts` (P, words) has the number of texts with each word.

    A word is evenly spread if its perplexity over parts, and over labels if there are several, is near the number of
    them.
    """
    listed = np.array([word in STOP_WORDS for word in words], dtype=bool)
    often = np.asarray(counts.sum(0)).ravel()  # (words,)
    frequent = often >= np.maximum(MIN_SHARE * part_sizes.sum(), 2)
    even = _is_even(counts, part_sizes, often)
    _, label = np.unique(part_labels, return_inverse=True)
    n_labels = int(label.max(initial=-1)) + 1
    if n_labels > 1:
        total = csr_matrix((np.ones(len(label)), (label, np.arange(len(label)))), shape=(n_labels, len(label)))
        even &= _is_even((total @ counts).tocsr(), total @ part_sizes, often)
    return listed | (frequent & even)


def _is_even(counts: csr_matrix, sizes: Ints, often: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which words are evenly spread over the rows of a table of counts."""
    n = len(sizes)
    if n < 2:
        return np.zeros(counts.shape[1], dtype=bool)
    shares = counts.multiply(1.0 / np.maximum(sizes, 1)[:, None]).tocsc()
    total = np.maximum(np.asarray(shares.sum(0)).ravel(), 1e-12)
    weights = shares.multiply(1.0 / total).tocsc()
    weights.data = -weights.data * np.log(np.maximum(weights.data, 1e-12))
    perplexity = np.exp(np.asarray(weights.sum(0)).ravel())
    evenness = (perplexity - 1) / np.maximum(np.minimum(n, often) - 1, 1)
    return np.asarray(evenness >= EVEN + FEW_PARTS / np.sqrt(n))
