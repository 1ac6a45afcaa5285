"""Lexical features: texts that share words are similar in any language. The coarse labels determine their weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.corpus import planted_corpus
from helpers.planted import unit_rows

from subtaxa.encoders import lexical
from subtaxa.encoders.lexical import (
    WEIGHTS,
    Vocabulary,
    _agreement,
    concatenated,
    lexical_features,
    lexical_weight,
    with_lexical,
)


def test_texts_that_share_rare_words_are_similar() -> None:
    texts, _, fine = planted_corpus()
    rows, _ = lexical_features(texts)
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, -1)
    near = np.argsort(-similarity, axis=1)[:, :5]
    names = np.array(fine)
    assert (names[near] == names[:, None]).mean() > 0.95
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert rows.dtype == np.float32


def test_common_words_do_not_count_and_pairs_span_them() -> None:
    """All texts contain "der". Without it, "rote" and "ampel" are adjacent."""
    texts = ["rote der ampel", "rote der ampel", *(f"der wort{i % 15} ding{i % 15}" for i in range(30))]
    rows, _ = lexical_features(texts)
    assert rows[0] @ rows[1] == pytest.approx(1.0, abs=1e-4)
    assert abs(rows[0] @ rows[2:].T).max() < 1e-4
    assert rows[2] @ rows[17] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("texts", [["", "", ""], ["?", "!", "."], ["one", "two", "three"], ["a b", "c"], ["same same"]])
def test_texts_without_shared_words_have_zero_features(texts: list[str]) -> None:
    rows, _ = lexical_features(texts)
    assert rows.shape == (len(texts), 1)
    assert not rows.any()


def test_the_same_texts_have_the_same_features() -> None:
    texts, _, _ = planted_corpus()
    assert np.array_equal(lexical_features(texts)[0], lexical_features(texts)[0])


def test_the_vocabulary_gives_the_same_features_later_and_after_saving() -> None:
    texts, _, _ = planted_corpus()
    rows, vocabulary = lexical_features(["the the", *texts, "the end", "the end"])
    assert vocabulary is not None
    np.testing.assert_allclose(vocabulary.features(texts), rows[1:-2], atol=1e-5)
    assert not vocabulary.features(["", "unheard"]).any()
    again = Vocabulary.of_arrays(replace(vocabulary, weight=0.75).arrays())
    assert (again.terms, again.common, again.weight) == (vocabulary.terms, vocabulary.common, 0.75)
    assert np.array_equal(again.features(texts), vocabulary.features(texts))


@pytest.mark.parametrize(
    "change",
    [
        {"terms": np.frombuffer(b"one\ntwo", dtype=np.uint8)},
        {"terms": np.frombuffer(b"\xff", dtype=np.uint8)},
        {"axes": np.zeros((2, 1), dtype=np.float32)},
        {"rarity": np.zeros(1)},
        {"weight": np.zeros(0)},
    ],
)
def test_a_vocabulary_with_inconsistent_parts_is_refused(change: dict[str, np.ndarray]) -> None:
    _, vocabulary = lexical_features(planted_corpus()[0])
    assert vocabulary is not None
    with pytest.raises((ValueError, IndexError)):
        Vocabulary.of_arrays(vocabulary.arrays() | change)


def test_concatenated_features_have_the_weighted_similarity() -> None:
    rng = np.random.default_rng(0)
    features, rows = (unit_rows(rng.normal(size=(5, d))) for d in (4, 3))
    found = concatenated(features, rows, 0.5)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(5))
    np.testing.assert_allclose(found @ found.T, (features @ features.T + 0.25 * rows @ rows.T) / 1.25, atol=1e-6)
    assert concatenated(features, rows, 0.0) is features


def test_similarities_combine_features_and_words() -> None:
    features, other = torch.randn(5, 4), torch.randn(5, 3)
    found = with_lexical(features, other, 1.5)
    torch.testing.assert_close(found @ found.T, features @ features.T + 2.25 * other @ other.T)
    assert with_lexical(features, other, 0.0) is features


def slow_agreement(features: torch.Tensor, rows: torch.Tensor, labels: torch.Tensor, weight: float) -> int:
    right = 0
    for i in range(len(features)):
        similar = [float(features[i] @ features[j] + weight**2 * (rows[i] @ rows[j])) for j in range(len(features))]
        near = sorted((j for j in range(len(features)) if j != i), key=lambda j: -similar[j])[: lexical.NEAREST]
        right += sum(int(labels[j] == labels[i]) for j in near)
    return right


def test_agreement_equals_that_of_a_slow_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    features, rows = (torch.randn(30, d, generator=generator) for d in (6, 4))
    labels = torch.randint(3, (30,), generator=generator)
    expected = [slow_agreement(features, rows, labels, weight) for weight in WEIGHTS]
    assert _agreement(features, rows, labels).tolist() == expected
    monkeypatch.setattr(lexical, "BLOCK_CELLS", 7 * 30)  # This gives several blocks.
    assert _agreement(features, rows, labels).tolist() == expected


def test_the_weight_is_the_best_one_and_later_the_largest_harmless_one(monkeypatch: pytest.MonkeyPatch) -> None:
    anything = torch.ones(4, 2), torch.ones(4, 2), torch.zeros(4, dtype=torch.int64)
    monkeypatch.setattr(lexical, "_agreement", lambda *_: np.array([70, 75, 80, 74, 70, 69, 60]))
    assert lexical_weight(*anything) == 0.5
    assert lexical_weight(*anything, limit=2.0) == 1.0
    assert lexical_weight(*anything, limit=0.75) == 0.75
    monkeypatch.setattr(lexical, "_agreement", lambda *_: np.array([70, 69, 60, 50, 40, 30, 20]))
    assert lexical_weight(*anything) == lexical_weight(*anything, limit=2.0) == 0.0


def test_words_have_no_weight_if_there_is_a_single_label() -> None:
    rows = torch.nn.functional.normalize(torch.randn(12, 5), dim=1)
    assert lexical_weight(rows, rows, torch.zeros(12, dtype=torch.int64)) == 0.0


def test_texts_that_share_a_single_term_have_no_lexical_features() -> None:
    rows, vocabulary = lexical_features(
        [f"{letter}x shared" if letter in "ab" else f"{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz"]
    )
    assert vocabulary is None
    assert not rows.any()
