"""Names and keywords from class-based TF-IDF: the words that distinguish a category from its siblings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from subtaxa.runtime.arrays import Floats, Ints

KEYWORDS = 8
EXAMPLES = 5
NAME_LENGTH = 40
# Phrases are added to a name until it has this many words.
NAME_WORDS = 3
# Only this many characters of each text are used.
MAX_TEXT_LENGTH = 2000

# Words that say nothing about a topic and are missing from scikit-learn's list: contractions and polite phrases.
CHATTER = """
ain't aren't can't cannot couldn't didn't doesn't don't dont hadn't hasn't haven't he'd he's i'd i'll i'm i've im
isn't it'd it'll it's ive let's she's that's there's they're they've wasn't we'd we'll we're we've weren't what's
where's who's won't wont wouldn't you'd you'll you're you've u ur pls plz ok okay hi hey hello dear thanks thank thx
please sorry just really still got get gets getting want wants wanted need needs needed know like would could also
tell say said says does did doing going gonna make one something anything thing things way let use used using come
"""
STOP_WORDS = frozenset(ENGLISH_STOP_WORDS) | frozenset(CHATTER.split())
# A word begins with a letter and continues with letters, digits and the combining marks of Hindi, Thai or decomposed
# Latin. Chinese and Japanese are written without spaces, so two characters at a time count as a word.
MARKS = "".join(chr(c) for c in range(0x300, 0x1E000) if unicodedata.category(chr(c)).startswith("M"))
WORD = re.compile(rf"[぀-ヿ㐀-鿿]{{1,2}}|(?<!\w)[^\W\d_](?:[\w{MARKS}]|['’-](?=\w))*")


@dataclass(frozen=True)
class Words:
    """The name of a category and its keywords."""

    name: str
    keywords: tuple[str, ...]


def name_categories(texts: Sequence[str], assignment: Ints, parents: Ints) -> list[Words]:
    """A name and keywords for each category. No two categories of one label share a name."""
    named: list[Words | None] = [None] * len(parents)
    for parent in np.unique(parents):
        children = np.flatnonzero(parents == parent)
        # The only category of a label has no siblings, so it is compared with all other texts.
        members = np.flatnonzero(np.isin(assignment, children)) if len(children) > 1 else np.arange(len(texts))
        local = np.searchsorted(children, assignment[members])
        if len(children) == 1:
            local = (assignment[members] != children[0]).astype(np.int64)
        phrases, scores = class_tfidf([texts[i] for i in members.tolist()], local, int(local.max()) + 1)
        taken: set[str] = set()
        for row, child in enumerate(children):
            keywords = _distinct(phrases, scores[row])
            name = _name(keywords, taken) or fresh_name(f"category {row + 1}", taken)
            taken.add(name)
            named[child] = Words(name, keywords)
    return [words for words in named if words is not None]


def class_tfidf(texts: Sequence[str], classes: Ints, n_classes: int) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """Phrases of one to three words and their class-based TF-IDF (C, V).

    tf is the share of a class's texts that contain the phrase, so that large classes and long texts do not dominate.
    idf is log(1 + C / sum of the shares).
    """
    fewest = 1 if len(texts) < 50 else 2
    counter = CountVectorizer(analyzer=_phrases, binary=True, min_df=fewest, max_features=50_000, dtype=np.float32)
    try:
        counts = counter.fit_transform(texts)  # (n, V)
    except ValueError:  # No text contains a word.
        return np.empty(0, dtype=np.str_), np.empty((n_classes, 0))
    sizes = np.bincount(classes, minlength=n_classes)
    shares = np.stack([np.asarray(counts[classes == c].sum(0)).ravel() for c in range(n_classes)])
    shares = shares / np.maximum(sizes, 1)[:, None]  # (C, V)
    idf = np.log1p(n_classes / np.maximum(shares.sum(0), 1e-12))
    phrases = counter.get_feature_names_out().astype(str)
    length = np.array([phrase.count(" ") for phrase in phrases])
    return phrases, shares * idf * (1.0 + 0.4 * length)


def representatives(texts: Sequence[str], features: Floats, members: Ints, centroid: Floats) -> tuple[str, ...]:
    """Up to five different texts nearest to the centroid."""
    order = members[np.argsort(-(features[members] @ centroid), kind="stable")]
    return tuple(dict.fromkeys(texts[i] for i in order.tolist()))[:EXAMPLES]


def _phrases(text: str) -> list[str]:
    """Phrases of one to three successive words, without stop words."""
    words = [word for word in WORD.findall(text[:MAX_TEXT_LENGTH].lower().replace("’", "'")) if word not in STOP_WORDS]
    words = [word for word in words if len(word) > 1 or not word.isascii()]
    return [" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]


def _distinct(phrases: NDArray[np.str_], scores: NDArray[np.float64]) -> tuple[str, ...]:
    """The phrases with the highest scores. No two of them share a word."""
    kept: list[str] = []
    said: set[str] = set()
    for i in np.argsort(-scores, kind="stable")[: 40 * KEYWORDS]:
        if scores[i] <= 0 or len(kept) == KEYWORDS:
            break
        words = [_stem(word) for word in str(phrases[i]).split()]
        if len(set(words)) == len(words) and not said & set(words):
            kept.append(str(phrases[i]))
            said |= set(words)
    return tuple(kept)


def _name(keywords: Sequence[str], taken: set[str]) -> str:
    """A name of the first phrases that fit. More are added while the name is not unique."""
    name = ""
    for phrase in keywords:
        longer = f"{name}, {phrase}" if name else phrase
        if name and ((len(name.split()) >= NAME_WORDS and name not in taken) or len(longer) > NAME_LENGTH):
            break
        name = longer
    return fresh_name(name[:NAME_LENGTH].strip(), taken) if name else ""


def fresh_name(name: str, taken: set[str]) -> str:
    """The name, followed by a number if it is taken."""
    number = 2
    fresh = name
    while fresh in taken:
        fresh, number = f"{name} ({number})", number + 1
    return fresh


def _stem(word: str) -> str:
    """A rough stem, so that "alarms" and "alarm", "charge" and "charged" count as one word."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
