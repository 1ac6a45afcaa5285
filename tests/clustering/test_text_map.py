"""The map: similar texts are near each other, and it depends on nothing but the features and the seed."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import forks
from helpers.corpus import planted_corpus
from helpers.planted import blobs, unit_rows
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from subtaxa.clustering import text_map as text_map_module
from subtaxa.clustering.text_map import (
    EARLY_ITERATIONS,
    FINAL_ITERATIONS,
    MIN_POINTS,
    PROGRESS_EVERY,
    positions_among,
    text_map,
)
from subtaxa.discovery import Discovery
from subtaxa.errors import SubtaxaError
from subtaxa.runs.array_files import read_arrays, write_arrays
from subtaxa.runs.layout import CLUSTERS, RUN
from subtaxa.runs.reading import read_json
from subtaxa.runtime.json_files import json_text
from subtaxa.runtime.progress import Progress, Step

BLOBS = blobs([[60, 40], [80, 20, 50]], spread=0.08)
TEXTS, LABELS, FINE = planted_corpus()


def drawn(features: np.ndarray, seed: int = 0) -> np.ndarray:
    return text_map(features, seed, Progress())


def near(places: np.ndarray, k: int) -> np.ndarray:
    """The k nearest points of each point (N, k), without the point itself."""
    return NearestNeighbors(n_neighbors=k).fit(places).kneighbors(return_distance=False)


@pytest.fixture(scope="module")
def places() -> np.ndarray:
    return drawn(BLOBS.features)


@pytest.fixture(scope="module")
def model(quick: dict[str, object]) -> Discovery:
    return Discovery(6, **{**quick, "epochs": 1}).fit(TEXTS, LABELS)  # type: ignore[arg-type]


def test_planted_blobs_stay_apart(places: np.ndarray) -> None:
    assert places.shape == (len(BLOBS), 2)
    assert places.dtype == np.float32
    assert (BLOBS.truth[near(places, 10)] == BLOBS.truth[:, None]).mean() > 0.99


@pytest.mark.parametrize("many", [1, 10_000])
def test_neighbours_are_preserved_by_tree_and_by_grid(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """A ring fits into the plane, so its neighbours must stay neighbours."""
    monkeypatch.setattr(text_map_module, "GRID_POINTS", many)
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1).astype(np.float32)
    kept = [len(set(a) & set(b)) for a, b in zip(near(drawn(ring), 10), near(ring, 10), strict=True)]
    assert np.mean(kept) / 10 > 0.8


def test_the_map_depends_only_on_features_and_seed(places: np.ndarray) -> None:
    order = np.random.default_rng(1).permutation(len(BLOBS))
    np.testing.assert_array_equal(drawn(BLOBS.features), places)
    np.testing.assert_array_equal(drawn(BLOBS.features[order]), places[order])
    assert not np.allclose(drawn(BLOBS.features, seed=1), places)


@pytest.mark.parametrize("grid", [1, 10_000])
def test_the_number_of_threads_has_no_effect(monkeypatch: pytest.MonkeyPatch, grid: int) -> None:
    monkeypatch.setattr(text_map_module, "GRID_POINTS", grid)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with threadpool_limits(threads):
            found.append(drawn(BLOBS.features))
    torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n", [1, 2, 3, 4, MIN_POINTS - 1, MIN_POINTS, MIN_POINTS + 1, 40])
def test_few_texts_have_distinct_positions(n: int, capfd: pytest.CaptureFixture[str]) -> None:
    features = unit_rows(np.random.default_rng(n).normal(size=(n, 16)))
    with warnings.catch_warnings(action="error"):
        places = drawn(features)
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(3), axis=0)) == n
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("distinct", [1, 2, 3, 30])
def test_identical_texts_share_a_position(distinct: int) -> None:
    some = unit_rows(np.random.default_rng(0).normal(size=(distinct, 16)))
    which = np.arange(10 * distinct) % distinct
    with warnings.catch_warnings(action="error"):
        places = drawn(some[which])
    assert np.isfinite(places).all()
    assert len(np.unique(places, axis=0)) == distinct
    np.testing.assert_array_equal(places, places[which])


def test_nearly_identical_texts_are_placed() -> None:
    features = np.repeat(np.eye(16, dtype=np.float32)[:3], 50, axis=0)
    features += 1e-7 * np.random.default_rng(0).normal(size=features.shape).astype(np.float32)
    with warnings.catch_warnings(action="error"):
        places = drawn(features)
    assert np.isfinite(places).all()
    assert (near(places, 10) // 50 == np.arange(150)[:, None] // 50).mean() > 0.95


def test_progress_reaches_its_end() -> None:
    class Watched(Progress):
        def _open(self, name: str, total: int) -> Step:
            self.last = super()._open(name, total)
            return self.last

    watched = Watched()
    text_map(BLOBS.features, 0, watched)
    assert watched.last.done == watched.last.total == EARLY_ITERATIONS + FINAL_ITERATIONS
    assert EARLY_ITERATIONS % PROGRESS_EVERY == FINAL_ITERATIONS % PROGRESS_EVERY == 0
    assert set(watched.timings) == {"Drawing the map"}


def test_new_texts_are_placed_near_similar_ones(places: np.ndarray) -> None:
    new = np.arange(len(BLOBS)) % 4 == 0
    found = positions_among(BLOBS.features[new], BLOBS.features[~new], places[~new], 0)
    assert found.dtype == np.float32
    index = NearestNeighbors(n_neighbors=5).fit(places[~new]).kneighbors(found, return_distance=False)
    assert (BLOBS.truth[~new][index] == BLOBS.truth[new][:, None]).mean() > 0.95
    assert len(np.unique(found, axis=0)) == len(found)
    backwards = positions_among(BLOBS.features[new][::-1], BLOBS.features[~new], places[~new], 0)
    np.testing.assert_array_equal(backwards[::-1], found)


def test_one_distant_old_text_is_enough() -> None:
    old = np.eye(4, dtype=np.float32)[:1]
    found = positions_among(-old, old, np.array([[3.0, 4.0]], dtype=np.float32), 0)
    np.testing.assert_allclose(found, [[3, 4]], atol=0.1)


def test_no_new_texts_have_no_positions(places: np.ndarray) -> None:
    assert positions_among(BLOBS.features[:0], BLOBS.features, places, 0).shape == (0, 2)


def test_a_fitted_model_has_a_map_in_the_order_of_its_texts(model: Discovery) -> None:
    assert model.map_.shape == (len(TEXTS), 2)
    assert "Drawing the map" in model.timings_
    same = np.array(FINE)[near(model.map_, 5)] == np.array(FINE)[:, None]
    assert same.mean() > 0.85


def test_the_map_is_saved_and_a_damaged_one_refused(model: Discovery, tmp_path: Path) -> None:
    run = model.save(tmp_path / "run")
    np.testing.assert_array_equal(Discovery.load(run).map_, model.map_)
    facts = read_json(run / RUN)
    del facts["files"]  # A run without digests is an early one, or was put together by hand.
    (run / RUN).write_text(json_text(facts))
    arrays = read_arrays(run / CLUSTERS)
    write_arrays(run / CLUSTERS, {**arrays, "map": arrays["map"][1:]})
    with pytest.raises(SubtaxaError, match="do not belong together: run discover again"):
        Discovery.load(run)
    del arrays["map"]
    write_arrays(run / CLUSTERS, arrays)
    with pytest.raises(SubtaxaError, match=r"is damaged .*run discover again"):
        Discovery.load(run)


def test_an_update_adds_positions_and_an_edit_changes_none(model: Discovery, tmp_path: Path) -> None:
    run = model.save(tmp_path / "run")
    grown = Discovery.load(run)
    grown.update(["parcel courier lost", "invoice receipt pdf"], ["post", "money"])
    np.testing.assert_array_equal(grown.map_[: len(TEXTS)], model.map_)
    assert grown.map_.shape == (len(TEXTS) + 2, 2)
    before = grown.map_
    grown.taxonomy_.merge(*(c.id for c in grown.taxonomy_.children("money")[:2]))
    np.testing.assert_array_equal(grown.map_, before)
    np.testing.assert_array_equal(Discovery.load(grown.save(tmp_path / "more")).map_, before)


STOPPED = """
import random, signal
from helpers.planted import blobs
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.progress import Progress
from subtaxa.clustering.text_map import text_map

def stop(number, frame):
    raise Stopped(number)

signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
features, chance, stopped = blobs([[60, 40]], spread=0.08).features, random.Random(0), 0
for _ in range(25):
    signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.1))
    try:
        while True:
            text_map(features, 0, Progress())
    except Stopped:
        stopped += 1
print(stopped)
"""


def test_a_signal_stops_the_map_without_a_crash() -> None:
    """An exception in the middle of an iteration leaves openTSNE with an incomplete tree, which crashes the process."""
    done = forks.run(STOPPED, work=forks.python)
    assert (done.returncode, done.stdout) == (0, "25\n"), done.stderr
