"""Wrong coarse labels are found by the labels of the neighbours."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.corpus import planted_corpus
from helpers.planted import blobs

from subtaxa.clustering.label_errors import NEIGHBOURS, label_errors, other_labels
from subtaxa.discovery import Discovery


def test_flipped_labels_are_found_and_nothing_else() -> None:
    data = blobs([[60, 60], [60, 60], [60]], spread=0.1)
    labels, wrong = data.labels.copy(), np.array([3, 70, 130, 200, 299])
    labels[wrong] = (labels[wrong] + 1) % 3
    found = label_errors(data.features, labels)
    assert sorted(found.texts) == sorted(wrong)
    assert (found.label == data.labels[found.texts]).all()
    assert (np.diff(found.share) <= 0).all()
    assert len(label_errors(data.features, data.labels).texts) == 0


def test_shares_equal_a_slow_count() -> None:
    data = blobs([[9, 30], [12], [20]], spread=0.6)
    similarity = data.features @ data.features.T
    np.fill_diagonal(similarity, -2)
    found, shares = other_labels(data.features, data.labels)
    for i, row in enumerate(similarity):
        near = np.argsort(-row)[:NEIGHBOURS]
        votes = [(data.labels[near] == label).mean() * (label != data.labels[i]) for label in range(3)]
        assert shares[i] == pytest.approx(max(votes))
        assert shares[i] == 0 or found[i] == np.argmax(votes)
    assert len(np.unique(shares)) > 5


@pytest.mark.parametrize("sizes", [[[1]], [[1], [1]], [[3]]])
def test_few_texts_are_accepted(sizes: list[list[int]]) -> None:
    data = blobs(sizes)
    assert len(label_errors(data.features, data.labels, 0.0).texts) in (0, len(data))


def test_a_run_lists_suspect_labels(quick: dict[str, object], tmp_path: Path) -> None:
    texts, labels, _ = planted_corpus(per_topic=30)
    wrong = [i for i, label in enumerate(labels) if label == "post"][:2]
    for i in wrong:
        labels[i] = "money"
    run = Discovery(6, **{**quick, "epochs": 1}).fit(texts, labels).save(tmp_path / "run")  # type: ignore[arg-type]
    with (run / "suspect_labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {texts[i] for i in wrong} <= {row["text"] for row in rows}
    assert all(row["label"] != row["neighbours_label"] for row in rows)
