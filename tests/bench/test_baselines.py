"""The baselines: clusterers on frozen embeddings."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers.corpus import planted_corpus
from helpers.planted import Planted, blobs, same_partition, unit_rows

from subtaxa.bench import baselines
from subtaxa.bench.baselines import BASELINES, SMALLEST, Task, by_hdbscan, by_kmeans, over_all_texts, per_label
from subtaxa.bench.datasets import Dataset, Ints, Part
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SubtaxaError
from subtaxa.methods import settings_for, variants
from subtaxa.runtime.progress import Progress

SIZES = [[30, 20], [25, 40, 15]]


def task(data: Planted, number: int = 5) -> Task:
    return Task([f"text {i}" for i in range(len(data))], data.features, number, 0)


def part(data: Planted) -> Part:
    """Rows in the order of the features, which `Part.of` would sort."""
    return Part(
        tuple(f"text {i}" for i in range(len(data))),
        tuple(f"label {i}" for i in data.labels),
        tuple(f"fine {i}" for i in data.truth),
    )


def parents(found: Ints, data: Planted) -> dict[int, set[int]]:
    return {int(c): set(data.labels[found == c].tolist()) for c in np.unique(found)}


def test_per_label_never_mixes_labels_and_category_numbers_are_distinct() -> None:
    data = blobs(SIZES, spread=0.6)  # A clusterer of all texts would mix the labels.
    mixed = over_all_texts(by_kmeans)(task(data), part(data))
    assert max(map(len, parents(mixed, data).values())) > 1
    found = per_label(by_kmeans)(task(data), part(data))
    assert all(len(labels) == 1 for labels in parents(found, data).values())
    assert sorted(np.unique(found)) == list(range(5))


def test_per_label_gives_the_clusterer_one_label_and_its_number_of_categories() -> None:
    data, seen = blobs(SIZES), []

    def spy(given: Task) -> Ints:
        seen.append((given.texts, given.number, len(given.features)))
        return np.full(len(given.texts), 40, dtype=np.int64)  # Numbers need not start at 0.

    found = per_label(spy)(task(data), part(data))
    first = [f"text {i}" for i in np.flatnonzero(data.labels == 0)]
    assert [number for _, number, _ in seen] == [2, 3]
    assert seen[0][0] == first
    assert [n for _, _, n in seen] == [50, 80]
    assert found.tolist() == data.labels.tolist()


@pytest.mark.parametrize("clusterer", [by_kmeans, by_hdbscan])
def test_tiny_labels_have_at_most_one_category_per_text(clusterer: object) -> None:
    data = blobs([[1], [2], [1, 1, 1], [40, 30]])
    found = per_label(clusterer)(task(data), part(data))  # type: ignore[arg-type]
    assert all(len(labels) == 1 for labels in parents(found, data).values())
    assert sorted(np.unique(found)) == list(range(found.max() + 1))
    assert len(np.unique(found)) == {by_kmeans: 7, by_hdbscan: 5}[clusterer]


def test_hdbscan_finds_planted_blobs_and_their_number() -> None:
    data = blobs(SIZES, spread=0.03)
    assert same_partition(by_hdbscan(task(data, number=2)), data.truth)


def test_hdbscan_of_too_few_texts_is_one_category() -> None:
    data = blobs([[SMALLEST]])
    assert by_hdbscan(task(data)).tolist() == [0] * SMALLEST


def test_noise_goes_to_the_nearest_category() -> None:
    rows = unit_rows(np.array([[1.0, 0, 0], [1, 0.1, 0], [0, 1, 0], [0.2, 1, 0], [0.9, 0.2, 0.1], [0.1, 0.9, 0.3]]))
    found = np.array([0, 0, 1, 1, -1, -1])
    assert baselines._without_noise(rows, found).tolist() == [0, 0, 1, 1, 0, 1]
    assert found.tolist() == [0, 0, 1, 1, -1, -1]  # The input array is unchanged.


def test_only_noise_is_one_category_and_no_noise_changes_nothing() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(4, 3)))
    assert baselines._without_noise(rows, np.full(4, -1)).tolist() == [0, 0, 0, 0]
    assert baselines._without_noise(rows, np.array([1, 0, 2, 1])).tolist() == [1, 0, 2, 1]


def test_scattered_texts_are_one_category_for_hdbscan() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 50))
    assert set(by_hdbscan(Task([""] * 60, unit_rows(rows), 5, 0)).tolist()) == {0}


@pytest.fixture(scope="module")
def planted_data() -> Dataset:
    parts = []
    for seed, n in ((0, 25), (1, 12)):
        texts, coarse, fine = planted_corpus(n, seed)
        parts.append(Part.of(texts, coarse, fine))
    return Dataset("planted", *parts)


@pytest.mark.parametrize("name", ["kmeans", "kmeans-lexical", "kmeans-per-label", "hdbscan"])
def test_a_whole_run_scores_the_protocols_that_apply(tiny_encoder: str, planted_data: Dataset, name: str) -> None:
    settings = settings_for("default", encoder=tiny_encoder)
    first, again = (baselines.run(name, planted_data, settings, 0, Progress()) for _ in range(2))
    frozen = BASELINES[name][1] is None
    assert list(first) == (["paper", "best-inertia", "centroid", "discover"] if frozen else ["paper", "centroid"])
    assert first == again
    assert all(10 < found.acc <= 100 for found in first.values())
    if name == "kmeans-per-label":
        assert first["paper"].acc > 60


def test_features_are_those_of_the_encoder_untrained_and_cut_at_the_same_length(
    tiny_encoder: str, planted_data: Dataset
) -> None:
    texts = (*planted_data.test.texts[:20], "refund " * 200)
    for longest in ("model", 5, 4000):
        ours = SentenceEncoder(tiny_encoder, max_tokens=None if longest == "model" else longest).encode(texts).numpy()
        np.testing.assert_allclose(baselines._frozen(texts, tiny_encoder, "model", longest), ours, atol=1e-5)


def test_lexical_features_stand_beside_those_of_the_encoder() -> None:
    texts, coarse, fine = planted_corpus(25)
    part = Part.of(texts, coarse, fine)
    blind = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(part), 1))  # The encoder tells nothing apart.
    train, test = baselines._with_lexical(Dataset("planted", part, part), blind, blind)
    assert train.shape[1] > 2
    np.testing.assert_allclose(np.linalg.norm(train, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(train, test, atol=1e-5)  # The same texts have the same features.
    same = np.array(part.coarse)[:, None] == np.array(part.coarse)
    similarity = train @ train.T
    assert similarity[same].mean() > similarity[~same].mean()


def test_a_missing_bertopic_is_an_error_before_any_work(planted_data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bertopic", None)
    settings = settings_for("default", encoder="/nowhere")
    with pytest.raises(SubtaxaError, match=r"needs BERTopic: pip install 'subtaxa\[bertopic\]'"):
        baselines.run("bertopic-per-label", planted_data, settings, 0, Progress())


def test_bertopic_keeps_a_small_label_as_one_category(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_bertopic", lambda: (None, None))
    data = blobs([[3 * SMALLEST - 1]])
    assert set(baselines.by_bertopic(task(data)).tolist()) == {0}


def test_bertopic_itself() -> None:
    pytest.importorskip("bertopic")
    texts, _, fine = planted_corpus(40)
    numbers = np.unique(fine, return_inverse=True)[1]
    data = blobs([[40] * 6])
    features = data.features[np.argsort(np.argsort(numbers, kind="stable"))]  # One blob per category.
    found = baselines.by_bertopic(Task(texts, features, 6, 0))
    assert (found >= 0).all()
    assert same_partition(found, numbers)


def test_no_baseline_has_the_name_of_a_method() -> None:
    assert not BASELINES.keys() & variants().keys()
