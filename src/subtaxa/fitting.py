"""The steps of `fit`: each returns one small dataclass, and the last assembles the fitted state.

N texts, P distinct ones, K categories, D dimensions, W dimensions of the words.
"""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from subtaxa.clustering.calibration import Calibration, calibrate, confidences_within
from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.estimators import estimator_for
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.node_stability import node_stability
from subtaxa.clustering.number_of_categories import CategoryCount, divide_total, numbers_per_label, readable
from subtaxa.clustering.requested_number import RequestedNumber, requested_number
from subtaxa.clustering.rules import find_categories, rule_for
from subtaxa.clustering.text_map import text_map
from subtaxa.data.texts import CoarseTexts
from subtaxa.encoders.base import Encoder
from subtaxa.encoders.languages import notice
from subtaxa.encoders.lexical import Vocabulary, concatenated, lexical_features
from subtaxa.encoders.tokens import Tokens
from subtaxa.methods.base import TrainingData
from subtaxa.runs.checkpoint_identity import open_checkpoint, removed_if_refused
from subtaxa.runtime import finite, processes
from subtaxa.runtime.arrays import Floats, Ints, distinct
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings
from subtaxa.taxonomy.describe import Description, describe
from subtaxa.taxonomy.described_tree import DescribedTree, describe_tree
from subtaxa.taxonomy.fitted_state import Categorisation, FittedState, Request
from subtaxa.taxonomy.text_reader import MemoryReader
from subtaxa.training.fit_encoder import Engine, TrainingJob, encoder_for, train_encoder
from subtaxa.training.memory_budget import Sizes, fit_into_memory
from subtaxa.training.training_state import History

Number = TypeVar("Number", bound=np.generic)

# The first look has one line of this many characters per label.
WIDTH = 110


def fit_state(
    data: CoarseTexts,
    request: Request,
    settings: Settings,
    progress: Progress,
    checkpoint: str | Path | None = None,
    engine: Engine = train_encoder,
    time_limit: float | None = None,
) -> FittedState:
    """Find the categories of the texts. With a `checkpoint` folder, training is saved there and continues from it.

    With a `time_limit` in seconds, training ends early enough for the whole to take about that long.
    """
    until = None if time_limit is None else time.time() + time_limit
    prepared = _prepare(data, request, settings)
    encoded = _encode(prepared, progress)
    folder = open_checkpoint(checkpoint, data, prepared.settings, vars(request))
    resumed = folder is not None and any(folder.glob("*.safetensors"))
    look = (
        partial(_show_first_look, prepared, encoded, request, progress) if progress.is_shown and not resumed else None
    )
    trained = _train(
        prepared,
        encoded,
        partial(TrainingJob, seed=request.seed, folder=folder, until=until, look=look),
        engine,
        progress,
    )
    found = _find_categories(prepared, trained, request, progress)
    calibrated = _calibrate(prepared, trained, found, request.seed, progress)
    reader = MemoryReader(encoded.encoder, trained.vocabulary)
    tree = _describe_tree(prepared, trained, found, reader, request.seed, progress)
    described = _describe(prepared, trained, found, calibrated, tree, reader)
    positions = text_map(trained.features, request.seed, progress)
    categorisation = _categorise(prepared, trained, found, described, calibrated.calibration)
    return FittedState(
        request=request,
        settings=prepared.settings,
        data=data,
        coarse_labels=prepared.label_names,
        features=prepared.as_given(trained.features),
        map=prepared.as_given(positions),
        n_categories=dict(zip(prepared.label_names, found.counts, strict=True)),
        calibration=calibrated.calibration,
        history=trained.history,
        timings=dict(progress.timings),
        reader=reader,
        tree=replace(tree, tree=replace(tree.tree, parts=prepared.as_given(tree.tree.parts))),
        trained=categorisation,
        current=categorisation,
    )


@dataclass(frozen=True)
class _Prepared:
    """The texts in an order of our own, so that the order in the user's file does not matter, and the settings."""

    texts: list[str]  # (N)
    rows: list[int]  # (N) in the user's file
    labels: Ints  # (N,) coarse label numbers
    label_names: list[str]
    order: list[int]  # (N) index of each text in the user's data
    first: Ints  # (P,) the first text of each kind: texts that are the same, with the same label, are trained on once
    kind: Ints  # (N,) the kind of each text
    requested: RequestedNumber
    n_categories: int  # as requested, or a guess
    settings: Settings  # nothing in it is "auto" any more

    def as_given(self, rows: NDArray[Number]) -> NDArray[Number]:
        """Rows in our order, put into the order of the user's data."""
        return rows[np.argsort(self.order)]

    @property
    def distinct_texts(self) -> list[str]:
        """The first text of each kind (P)."""
        return [self.texts[i] for i in self.first.tolist()]


def _prepare(data: CoarseTexts, request: Request, settings: Settings) -> _Prepared:
    requested = requested_number(request.categories, data.texts, data.labels)
    order = sorted(range(len(data)), key=lambda i: (data.labels[i], data.texts[i]))
    texts = [data.texts[i] for i in order]
    names, labels = np.unique([data.labels[i] for i in order], return_inverse=True)
    first, kind = distinct(zip(labels.tolist(), texts, strict=True))
    n_categories = requested.total or max(len(names), readable(len(texts)))
    return _Prepared(
        texts=texts,
        rows=[data.rows[i] for i in order],
        labels=labels,
        label_names=[str(name) for name in names],
        order=order,
        first=first,
        kind=kind,
        requested=requested,
        n_categories=n_categories,
        settings=settings.for_data([texts[i] for i in first.tolist()]),
    )


@dataclass(frozen=True)
class _Encoded:
    """The texts as tokens and as words, and the encoder that is to be trained on them."""

    encoder: Encoder
    tokens: Tokens  # (P) of the distinct texts
    sizes: Sizes
    words: Floats  # (N, W)
    vocabulary: Vocabulary | None


def _encode(prepared: _Prepared, progress: Progress) -> _Encoded:
    with progress.step("Loading the encoder"):
        encoder = encoder_for(prepared.settings)
    texts = prepared.distinct_texts
    with progress.step("Tokenising the texts", len(texts)) as step:
        tokens = encoder.tokenise(texts, step.advance)
    if line := notice(prepared.settings.encoder, encoder, texts):
        progress.say(line)
    sizes = fit_into_memory(Sizes.of(encoder, tokens, prepared.settings, prepared.n_categories), progress)
    with progress.step("Counting the words"):
        words, vocabulary = lexical_features(prepared.texts)
    return _Encoded(encoder, tokens, sizes, words, vocabulary)


@dataclass(frozen=True)
class _Trained:
    """The features that training led to. The encoder was trained in place."""

    features: Floats  # (N, D) or, where words count, (N, D + W)
    untrained: Floats  # the same before training
    vocabulary: Vocabulary | None  # None where words do not count
    history: History


def _train(
    prepared: _Prepared, encoded: _Encoded, job: partial[TrainingJob], engine: Engine, progress: Progress
) -> _Trained:
    first, kind = prepared.first, prepared.kind
    data = TrainingData(
        encoded.tokens,
        torch.from_numpy(prepared.labels[first]),
        len(prepared.label_names),
        prepared.n_categories,
        lexical=torch.from_numpy(encoded.words[first]),
    )
    rows = [prepared.rows[i] for i in first.tolist()]
    with removed_if_refused(job.keywords["folder"]), finite.with_texts(prepared.distinct_texts, rows):
        result = engine(encoded.encoder, job(data, prepared.settings, sizes=encoded.sizes), progress)
    weight, vocabulary = result.lexical_weight, encoded.vocabulary
    return _Trained(
        features=concatenated(result.after.numpy()[kind], encoded.words, weight),
        untrained=concatenated(result.before.numpy()[kind], encoded.words, weight),
        vocabulary=replace(vocabulary, weight=weight) if vocabulary is not None and weight else None,
        history=result.history,
    )


@dataclass(frozen=True)
class _Found:
    """The categories as centroids, and how many each coarse label has and could have."""

    clusters: Clusters  # (K)
    counts: list[CategoryCount]  # by coarse label
    tree: CategoryTree
    cut: Ints | None  # (K,) the nodes of the tree that the categories stand for, if they do


def _find_categories(prepared: _Prepared, trained: _Trained, request: Request, progress: Progress) -> _Found:
    requested = prepared.requested
    with progress.step("Finding the categories", 2 * len(prepared.texts)) as step:
        rule = rule_for(prepared.settings)
        forest = Forest(trained.features, prepared.labels, request.seed, step.advance, trained.untrained)
        if requested.total is not None and not requested.fixed:
            counts = divide_total(forest, requested.total)
        else:
            estimator = estimator_for(prepared.settings)
            counts = numbers_per_label(forest, request.granularity, requested.fixed, estimator)
        numbers = [count.chosen for count in counts]
        clusters = find_categories(forest, numbers, step.advance, rule)
        return _Found(clusters, counts, forest.category_tree, rule.cut(forest, numbers))


@processes.alone()
def _show_first_look(
    prepared: _Prepared, encoded: _Encoded, request: Request, progress: Progress, untrained: Tensor
) -> None:
    """Say which categories the untrained features lead to. Training then makes them better."""
    if not prepared.settings.epochs:
        return
    features = untrained.numpy()[prepared.kind]
    found = _find_categories(prepared, _Trained(features, features, None, []), request, progress)
    with progress.step("Naming the first categories"):
        reader = MemoryReader(encoded.encoder, None)
        none = np.zeros(len(found.clusters))
        names, labels = prepared.label_names, prepared.labels
        first = describe(prepared.texts, features, labels, names, found.clusters, none, reader.embed).taxonomy
    progress.say(f"A first look, before training: {len(first)} categories")
    for label in first.parents:
        progress.say(
            textwrap.shorten(
                f"{label}: {'; '.join(each.name for each in first.children(label))}", WIDTH, placeholder=" …"
            )
        )


@dataclass(frozen=True)
class _Calibrated:
    """What turns similarities into probabilities, and the stability of each category (K,)."""

    calibration: Calibration
    stability: NDArray[np.float64]  # (K,)


def _calibrate(prepared: _Prepared, trained: _Trained, found: _Found, seed: int, progress: Progress) -> _Calibrated:
    with progress.step("Calibrating the confidences", len(prepared.texts)) as step:
        return _Calibrated(
            *calibrate(trained.features, trained.untrained, prepared.labels, found.clusters, seed, step.advance)
        )


def _describe_tree(
    prepared: _Prepared, trained: _Trained, found: _Found, reader: MemoryReader, seed: int, progress: Progress
) -> DescribedTree:
    """The category tree with names for all nodes, so that every cut of it can be shown at once."""
    features, tree = trained.features, found.tree
    with progress.step("Looking for stable categories", len(prepared.texts)) as step:
        stability = node_stability(tree, features, prepared.labels, seed, step.advance)
    with progress.step("Naming the categories"):
        return describe_tree(prepared.texts, features, tree, stability, reader.embed)


def _describe(
    prepared: _Prepared,
    trained: _Trained,
    found: _Found,
    calibrated: _Calibrated,
    tree: DescribedTree,
    reader: MemoryReader,
) -> Description:
    nodes = None if found.cut is None else [tree.nodes[node] for node in found.cut.tolist()]
    stability = calibrated.stability if nodes is None else np.array([node.stability for node in nodes])
    return describe(
        prepared.texts,
        trained.features,
        prepared.labels,
        prepared.label_names,
        found.clusters,
        stability,
        reader.embed,
        nodes,
    )


def _categorise(
    prepared: _Prepared, trained: _Trained, found: _Found, described: Description, calibration: Calibration
) -> Categorisation:
    """The described categories with the confidence of each text in its own."""
    features, labels, assignment = trained.features, prepared.labels, described.assignment
    confidences = confidences_within(features, assignment, described.clusters, calibration, labels)
    return Categorisation(
        labels=prepared.as_given(assignment),
        confidences=prepared.as_given(confidences),
        taxonomy=described.taxonomy,
        clusters=described.clusters,
        known_texts=KnownTexts.of(prepared.texts, features, assignment, described.clusters),
        groups={} if found.cut is None else {i: (node,) for i, node in enumerate(found.cut[described.order].tolist())},
    )
