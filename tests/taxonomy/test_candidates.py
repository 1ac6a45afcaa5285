"""Candidates: no cut-off phrases, no rare words, and the words that a phrase is cut off from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from subtaxa.runtime.arrays import Floats, Ints, unit
from subtaxa.taxonomy.candidates import Candidates, NodePhrases, Scores
from subtaxa.taxonomy.naming import name_categories
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrases import Phrases, count_phrases

FILLERS = [f"{a}{b}" for a in ("mo", "tu", "we", "th", "fr", "sa") for b in ("ka", "le", "ni", "so", "ru", "my", "po")]


def names_by(words: str, *categories: list[str], parents: Sequence[int] | None = None) -> list[str]:
    """Names for categories, with an encoder that knows some words: each text is the sum of those it contains."""

    def embed(texts: Sequence[str]) -> Floats:
        return unit(
            np.array([[float(word in text.lower().split()) for word in words.split()] for text in texts]) + 1e-6
        )

    texts = [text for category in categories for text in category]
    assignment = np.repeat(np.arange(len(categories)), [len(c) for c in categories])
    labels = np.zeros(len(categories), dtype=np.int64) if parents is None else np.array(parents)
    return [found.name for found in name_categories(texts, assignment, labels, embed(texts), embed)]


def one_node(texts: list[str], function: str) -> tuple[NodePhrases, Phrases]:
    """The phrases of a single node, if these words are the function words."""
    parts, labels = np.zeros(len(texts), dtype=np.int64), np.zeros(1, dtype=np.int64)
    found = count_phrases(texts, parts, labels)
    found = replace(found, is_function=np.array([word in function.split() for word in found.words]))
    return NodePhrases(found, np.array([len(texts)]), Nodes.flat(labels)), found


def some_candidates(corpus: NodePhrases, texts: Sequence[str]) -> Candidates:
    place = {corpus.phrases.text(i): i for i in range(len(corpus.phrases.units))}
    ids = np.array([place[text] for text in texts], dtype=np.int64)
    shares = np.asarray(corpus.shares[0].todense()).ravel()[ids]
    return Candidates(ids, shares, shares, np.zeros(len(ids), dtype=np.int64))


@pytest.mark.parametrize(
    ("texts", "function", "cut", "whole"),
    [
        (["how old is Anna", "how old is Bob", "how old is the house"], "how is the", "old", "how old"),
        (["wie alt ist Anna", "wie alt ist Otto", "wie alt ist das Haus"], "wie ist das", "alt", "wie alt"),
        (["turn the plug on", "turn the plug on now", "plug on"], "the on now", "plug", "plug on"),
    ],
)
def test_a_phrase_gets_the_function_words_that_it_is_cut_off_from(
    texts: list[str], function: str, cut: str, whole: str
) -> None:
    corpus, _ = one_node(texts, function)
    candidates = some_candidates(corpus, [cut, whole])
    assert corpus.completed(candidates, np.array([0.5, 0.45]), 0) == 1
    assert corpus.completed(candidates, np.array([0.5, 0.2]), 0) == 0  # The longer phrase is much worse.


def test_a_phrase_that_stands_alone_in_most_texts_gets_no_further_words() -> None:
    corpus, _ = one_node(["latest news", "latest news", "latest news", "what's the latest news"], "what's the")
    candidates = some_candidates(corpus, ["latest news", "what's the latest news"])
    assert corpus.completed(candidates, np.array([0.5, 0.49]), 0) == 0


def test_content_words_are_not_added() -> None:
    corpus, _ = one_node(["ticket for Anna", "ticket for Anna"], "for")
    candidates = some_candidates(corpus, ["ticket", "ticket for Anna"])
    assert corpus.completed(candidates, np.array([0.5, 0.49]), 0) == 0


def test_a_name_is_not_cut_off_from_a_word_that_is_tied_to_it() -> None:
    """All texts with "blood" go on with "pressure", which the encoder does not know."""
    doctor = [f"check blood pressure {filler}" for filler in FILLERS[:9]]
    other = [f"{filler} play music {filler[::-1]} {filler[:2]}" for filler in 4 * FILLERS]
    assert names_by("check blood play music", doctor, other)[0] == "check blood pressure"


@pytest.mark.parametrize("common", ["phone number", "номер телефона"], ids=["English", "Russian"])
def test_a_word_that_few_texts_have_is_in_no_candidate(common: str) -> None:
    """Two of 126 texts have the word."""
    corpus, phrases = one_node([f"{common} Rapunzel"] * 2 + [common] * 124, "")
    found = {phrases.text(i) for i in corpus.candidates(0, None).phrases.tolist()}
    assert common in found
    assert not any("Rapunzel" in phrase for phrase in found)


@dataclass(frozen=True)
class SaysEqual:
    """A judge to whom all phrases are equally typical. They differ in contrast."""

    contrast: Sequence[float]

    def cosines(self, phrases: Ints, nodes: Ints) -> Scores:
        return np.full((len(phrases), len(nodes)), 0.5)

    def contrasts(self, phrases: Ints, node: int) -> Scores:
        return np.array(self.contrast)


def test_a_phrase_that_sets_the_node_apart_is_preferred() -> None:
    corpus, _ = one_node(["anna's number", "phone number"] * 5, "")
    candidates = some_candidates(corpus, ["anna's number", "phone number"])
    same = corpus.scores(0, candidates, SaysEqual([0.0, 0.0]))
    assert same[0] == pytest.approx(same[1])
    scores = corpus.scores(0, candidates, SaysEqual([0.0, 0.4]))
    assert scores[1] > scores[0]
