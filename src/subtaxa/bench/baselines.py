"""Baselines that a practitioner would try first: frozen embeddings and a clustering library.

The frozen embeddings, alone or with lexical features, are scored by the four protocols, like those of trained methods.
A clusterer replaces the protocols. It takes unit features (N, D) and returns a category for each text. Texts that it
leaves out as noise go to the nearest category. Under `paper` it clusters the test texts; under `centroid` it clusters
the training texts and the test texts go to the nearest category. Clusterers that need the number of categories get the
true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from sklearn.cluster import HDBSCAN

from subtaxa.bench.datasets import Dataset, Ints, Part
from subtaxa.bench.protocols import kmeans, nearest_mean, score_features
from subtaxa.bench.scoring import Score, score
from subtaxa.encoders.lexical import concatenated, lexical_features, lexical_weight
from subtaxa.encoders.loading import encode_frozen
from subtaxa.errors import SubtaxaError
from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings

# Fewest texts of a category, for the clusterers that find the number of categories themselves.
SMALLEST = 10


@dataclass(frozen=True)
class Task:
    """The input of a clusterer."""

    texts: list[str]
    features: Floats  # (N, D)
    number: int
    seed: int


def by_kmeans(task: Task) -> Ints:
    return kmeans(task.features, task.number, task.seed)


def by_hdbscan(task: Task) -> Ints:
    if len(task.features) <= SMALLEST:
        return np.zeros(len(task.features), dtype=np.int64)
    found = HDBSCAN(min_cluster_size=SMALLEST, copy=True).fit_predict(task.features)
    return _without_noise(task.features, found.astype(np.int64))


def by_bertopic(task: Task) -> Ints:
    """BERTopic with its defaults (UMAP, HDBSCAN). A label with too few texts for it stays one category."""
    bertopic, umap = _bertopic()
    if len(task.texts) < 3 * SMALLEST:
        return np.zeros(len(task.texts), dtype=np.int64)
    plane = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=task.seed, n_jobs=1)
    model = bertopic.BERTopic(umap_model=plane, min_topic_size=SMALLEST, calculate_probabilities=False)
    found, _ = model.fit_transform(task.texts, embeddings=task.features)
    return _without_noise(task.features, np.array(found, dtype=np.int64))


def _bertopic() -> tuple[Any, Any]:
    try:
        import bertopic
        import umap
    except ImportError as error:
        raise SubtaxaError("the baseline bertopic-per-label needs BERTopic: pip install 'subtaxa[bertopic]'") from error
    return bertopic, umap


def _without_noise(features: Floats, found: Ints) -> Ints:
    """Noise (−1) goes to the nearest category. If every text is noise, all of them are one category."""
    noise = found < 0
    if noise.all():
        return np.zeros(len(found), dtype=np.int64)
    if noise.any():
        found = found.copy()
        found[noise] = nearest_mean(features[~noise], found[~noise], features[noise])
    return found


def per_label(clusterer: Callable[[Task], Ints]) -> Callable[[Task, Part], Ints]:
    """Apply a clusterer inside each coarse label. Category numbers are distinct over all labels."""

    def run(task: Task, part: Part) -> Ints:
        coarse, fine = np.array(part.coarse), np.array(part.fine)
        found, first = np.empty(len(part), dtype=np.int64), 0
        for label in np.unique(coarse):
            members = np.flatnonzero(coarse == label)
            number = len(np.unique(fine[members]))
            texts = [task.texts[i] for i in members]
            own = clusterer(Task(texts, task.features[members], number, task.seed))
            found[members] = first + np.unique(own, return_inverse=True)[1]
            first = int(found[members].max()) + 1
        return found

    return run


def over_all_texts(clusterer: Callable[[Task], Ints]) -> Callable[[Task, Part], Ints]:
    """Apply a clusterer to all texts together, without their coarse labels."""
    return lambda task, part: np.unique(clusterer(task), return_inverse=True)[1].astype(np.int64)


# What each baseline is, and its clusterer. Without one, the embeddings are scored by the four protocols.
BASELINES: dict[str, tuple[str, Callable[[Task, Part], Ints] | None]] = {
    "kmeans": ("frozen sentence embeddings, k-means", None),
    "kmeans-lexical": ("frozen sentence embeddings and lexical features, k-means", None),
    "kmeans-per-label": (
        "frozen sentence embeddings, k-means inside each coarse label with its true number",
        per_label(by_kmeans),
    ),
    "hdbscan": ("frozen sentence embeddings, HDBSCAN", over_all_texts(by_hdbscan)),
    "bertopic-per-label": ("BERTopic inside each coarse label", per_label(by_bertopic)),
}


# The cache holds the training and the test texts of one data set for all baselines.
@lru_cache(2)
def _frozen(texts: tuple[str, ...], encoder: str, pooling: str, max_tokens: int | str) -> Floats:
    """Unit features (N, D), computed by sentence-transformers directly."""
    return encode_frozen(texts, encoder, pooling, None if max_tokens == "model" else int(max_tokens))


def run(name: str, dataset: Dataset, settings: Settings, seed: int, progress: Progress) -> dict[str, Score]:
    """The scores of a baseline by each protocol that applies to it."""
    about, clusterer = BASELINES[name]
    if name.startswith("bertopic"):
        _bertopic()
    parts = dataset.train, dataset.test
    with progress.step("Reading all texts with the encoder"):
        train, test = (_frozen(part.texts, settings.encoder, settings.pooling, settings.max_tokens) for part in parts)
    if name.endswith("-lexical"):
        train, test = _with_lexical(dataset, train, test)
    if clusterer is None:
        with progress.step(f"Clustering: {about}"):
            codes = dataset.train.coarse_codes
            return score_features(train, codes, test, dataset.test.fine, dataset.n_fine, seed)
    found = []
    with progress.step(f"Clustering: {about}", 2) as step:
        for part, rows in zip(parts, (train, test), strict=True):
            found.append(clusterer(Task(list(part.texts), rows, dataset.n_fine, seed), part))
            step.advance()
    truth = dataset.test.fine
    return {"paper": score(truth, found[1]), "centroid": score(truth, nearest_mean(train, found[0], test))}


def _with_lexical(dataset: Dataset, train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """The features with lexical features beside them, at the weight that the default method gives them before training.

    The coarse labels of the training texts choose the weight, which is at most 1.
    """
    lexical, vocabulary = lexical_features(dataset.train.texts)
    labels = torch.from_numpy(dataset.train.coarse_codes)
    weight = min(1.0, lexical_weight(torch.from_numpy(train), torch.from_numpy(lexical), labels))
    if vocabulary is None or not weight:
        return train, test
    new = vocabulary.features(dataset.test.texts)
    return concatenated(train, lexical, weight), concatenated(test, new, weight)
