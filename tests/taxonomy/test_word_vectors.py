"""Word vectors: their sums point where the features of the texts point."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from subtaxa.runtime.arrays import unit
from subtaxa.taxonomy import word_vectors as module


def test_they_solve_the_ridge_regression() -> None:
    random = np.random.default_rng(0)
    contains = csr_matrix((random.random((60, 8)) < 0.4).astype(np.float32))
    features = unit(random.normal(size=(60, 5)))
    table = contains.toarray() / np.sqrt(np.maximum(contains.toarray().sum(1, keepdims=True), 1))
    exact = np.linalg.solve(table.T @ table + module.RIDGE * np.eye(8), table.T @ features)
    np.testing.assert_allclose(module.word_vectors(contains, features), exact, atol=1e-4)


def test_a_sum_of_words_is_near_the_texts_that_have_them() -> None:
    random = np.random.default_rng(1)
    contains = csr_matrix((random.random((400, 12)) < 0.3).astype(np.float32))
    features = unit(contains @ random.normal(size=(12, 20)))
    vectors = module.word_vectors(contains, features)
    cosines = (unit(contains @ vectors) * features).sum(1)
    assert np.quantile(cosines[np.asarray(contains.sum(1)).ravel() > 0], 0.1) > 0.9


def test_texts_without_words_have_no_vectors() -> None:
    assert module.word_vectors(csr_matrix((3, 0), dtype=np.float32), np.eye(3, dtype=np.float32)).shape == (0, 3)
