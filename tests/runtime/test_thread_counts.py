"""One thread and two threads give the same categories, and features within the documented tolerance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.encoders.sentence_encoder import SentenceEncoder

READ, TRAINED = 1e-5, 1e-3
TEXTS, LABELS, _ = planted_corpus(20)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_features_agree(tiny_encoder: str) -> None:
    encoder, found = SentenceEncoder(tiny_encoder), []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(encoder.encode(TEXTS).numpy())
    np.testing.assert_allclose(*found, rtol=0, atol=READ)


def test_categories_agree(quick: dict[str, object]) -> None:
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(Discovery(6, **quick).fit(TEXTS, LABELS))
    one, two = found
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_allclose(one.features_, two.features_, rtol=0, atol=TRAINED)
    np.testing.assert_allclose(one.confidences_, two.confidences_, rtol=0, atol=TRAINED)
