"""The space of phrases: what sets a node apart from its label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subtaxa.runtime.arrays import Floats, unit
from subtaxa.taxonomy.nodes import Nodes
from subtaxa.taxonomy.phrase_space import Space
from subtaxa.taxonomy.phrases import count_phrases

TEXTS = ["red apple", "red apple pie", "red brick", "green brick", "blue cloud", "blue drum", "red sun", "big sun"]
PARTS, LABELS = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 0, 0, 1])
WORDS = sorted({word for text in TEXTS for word in text.split()})


def embed(texts: Sequence[str]) -> Floats:
    """The words of a text, as a unit vector."""
    return unit(np.array([[float(word in text.split()) for word in WORDS] for text in texts]))


def test_offsets_lead_from_the_mean_of_the_label_to_that_of_the_node() -> None:
    features = embed(TEXTS)
    space = Space.of(features, PARTS, Nodes.flat(LABELS))
    for node in range(3):
        wanted = features[node == PARTS].mean(0) - features[PARTS < 3].mean(0)
        np.testing.assert_allclose(space.offsets[node], wanted / np.linalg.norm(wanted), atol=1e-6)
    np.testing.assert_allclose(space.offsets[3], 0.0, atol=1e-6)  # It is all of its label.


def test_offsets_of_a_tree_are_those_of_its_nodes() -> None:
    features = embed(TEXTS)
    space = Space.of(features, PARTS, Nodes.tree(np.array([[0, 1], [4, 2]]), LABELS))
    wanted = features[PARTS < 2].mean(0) - features[PARTS < 3].mean(0)
    np.testing.assert_allclose(space.offsets[4], wanted / np.linalg.norm(wanted), atol=1e-6)
    np.testing.assert_allclose(space.offsets[5], 0.0, atol=1e-6)


def test_phrases_that_were_not_embedded_come_last() -> None:
    nodes, features = Nodes.flat(LABELS), embed(TEXTS)
    space, phrases = Space.of(features, PARTS, nodes), count_phrases(TEXTS, PARTS, LABELS)
    judge = space.judge_by_both([np.arange(5)], phrases, embed, space.judge_by_words(phrases), 100)
    place = {phrases.text(i): i for i in range(len(phrases.units))}
    assert place["apple"] < 5 <= place["red"]
    found = judge.contrasts(np.array([place["apple"], place["red"]]), 0)
    assert found[0] > 0
    assert found[1] == judge.cosines(np.array([place["red"]]), np.array([0]))[0, 0] == -1.0
