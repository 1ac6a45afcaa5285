"""Names and keywords: phrases in the users' own words that are typical of a node and tell it from its competitors.

A node is a category, or a set of categories in a tree. Texts are counted once, in the parts that nodes consist of. The
name of a node depends on its own texts and on its competitors, so it is the same in every cut of a tree.

n texts, P parts, G nodes, V phrases, D dimensions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy.candidates import MAX_EMBEDDED, TYPICAL, Candidates, NodePhrases, Scores
from subtaxa.taxonomy.keywords import keywords_of
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrase_space import Embed, Space
from subtaxa.taxonomy.phrases import count_phrases


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
    corpus = NodePhrases(phrases, np.bincount(parts, minlength=nodes.n_parts), nodes)
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
    return [Words(names[node], keywords_of(corpus, node)) for node in range(len(nodes))]


def _best(corpus: NodePhrases, candidates: Candidates, scores: Scores, taken: set[str], otherwise: str) -> str:
    """The candidate with the highest score that is not taken, with the function words it is cut off from."""
    phrases = corpus.phrases
    texts = [phrases.text(int(i)) for i in candidates.phrases]
    order = sorted(range(len(texts)), key=lambda i: (-round(float(scores[i]), 6), texts[i]))
    for i in order:
        for some in (corpus.completed(candidates, scores, i), i):
            if texts[some].casefold() not in taken:
                return texts[some]
    return fresh_name(texts[order[0]] if order else otherwise, taken)


def fresh_name(name: str, taken: Collection[str]) -> str:
    """The name, followed by a number if it is taken. Capitals make no difference."""
    used = {other.casefold() for other in taken}
    number, fresh = 2, name
    while fresh.casefold() in used:
        fresh, number = f"{name} ({number})", number + 1
    return fresh
