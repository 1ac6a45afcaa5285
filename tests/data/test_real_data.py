"""Real texts: the built-in example, and the packaged encoder on a part of HWU64 if the authors' files are present.

`tests/project/test_wheel.py` finds the categories of the example with the packaged encoder.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np

from subtaxa import Discovery, read_texts
from subtaxa.bench.scoring import score
from subtaxa.data.example import FOLDER, example_texts


def hwu64(path: Path) -> tuple[list[str], list[str]]:
    data = read_texts(path)
    return list(data.texts), list(data.labels)


def test_a_tenth_of_hwu64(benchmark_data: Path) -> None:
    texts, fine = hwu64(benchmark_data / "hwu64" / "train.tsv")
    new, truth = hwu64(benchmark_data / "hwu64" / "test.tsv")
    assert (len(texts), len(new)) == (8954, 1031)
    texts, fine = texts[::10], fine[::10]
    labels = [name.split("_")[0] for name in fine]
    model = Discovery(64, epochs=1, neighbours=16).fit(texts, labels)
    assert score(truth, model.predict(new)).acc > 60  # k-means on untrained features of all test texts gives 63.
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    assert {c.parent for c in model.taxonomy_} == set(labels)


def test_the_example_has_the_documented_contents() -> None:
    data = example_texts()
    with (FOLDER / "support_fine.csv").open(newline="", encoding="utf-8") as file:
        fine = [row["fine"] for row in csv.DictReader(file)]
    assert len(data) == len(fine) >= 1200
    assert data.skipped == ()
    assert data.n_duplicates == 0
    assert len(data.counts) >= 6
    below = {label: {f for f, c in zip(fine, data.labels, strict=True) if c == label} for label in data.counts}
    assert all(4 <= len(children) <= 8 for children in below.values())
    sizes = Counter(zip(data.labels, fine, strict=True)).values()
    assert max(sizes) > 3 * min(sizes)
    openings = Counter(" ".join(text.lower().split()[:3]) for text in data.texts)
    assert openings.most_common(1)[0][1] < 0.02 * len(data)  # The texts are not made from a template.
