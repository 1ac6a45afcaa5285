"""Numbers of a stranger's run that nothing can be computed with are refused on load, in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.run_files import FACTS, arrays, write_run

from subtaxa.discovery import Discovery
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout

WORDS: dict[str, Any] = {
    "terms": np.frombuffer(b"one\ntwo", dtype=np.uint8),
    "common": np.frombuffer(b"", dtype=np.uint8),
    "rarity": np.ones(2),
    "axes": np.ones((1, 2), dtype=np.float32),
    "weight": np.ones(1),
}
TREE: dict[str, Any] = {
    "parts": np.arange(3),
    "part_labels": np.array([0, 0, 1]),
    "children": np.array([[0, 1]]),
    "heights": np.array([1.0]),
}
FILES: dict[str, dict[str, Any]] = {
    layout.CLUSTERS: arrays(),
    layout.FEATURES: {"features": np.eye(3, dtype=np.float32)},
    layout.TREE: TREE,
    layout.WORDS: WORDS,
}


def write(folder: Path, **changes: dict[str, Any]) -> Path:
    """A run with every array, of which some are changed."""
    write_run(folder)
    array_files.write_arrays(folder / layout.MODEL / "model.safetensors", {"x": np.zeros(1)})
    for name, content in FILES.items():
        array_files.write_arrays(folder / name, {**content, **changes.get(name.partition(".")[0], {})})
    node = {"name": "x", "keywords": [], "examples": [], "stability": None}
    own = [{"id": i, "nodes": [i]} for i in range(3)]
    (folder / layout.TREE_NODES).write_text(json.dumps({"nodes": [node] * 4, "categories": own}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run" / layout.MODEL).mkdir(parents=True)
    return tmp_path / "run"


def load(folder: Path) -> Any:
    model = Discovery.load(folder)
    return model.vocabulary_, model


def test_the_run_is_loaded_before_it_is_changed(folder: Path) -> None:
    vocabulary, model = load(write(folder))
    assert vocabulary.width == 1
    assert len(model.taxonomy_) == 3


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, content in FILES.items() for key, array in content.items() if array.dtype.kind == "f"],
)
def test_an_array_with_a_number_that_is_not_finite(folder: Path, name: str, key: str, number: float) -> None:
    array = FILES[name][key].copy()
    array.flat[-1] = number
    write(folder, **{name.partition(".")[0]: {key: array}})
    with pytest.raises(InputError, match=rf"'.*{name}' holds NaN or infinity in {key!r}: run discover again"):
        load(folder)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, 1e30])
def test_a_confidence_that_is_no_probability(folder: Path, confidence: float) -> None:
    write(folder, clusters={"confidences": np.array([0.5, 0.5, confidence])})
    with pytest.raises(InputError, match="holds a confidence that is not from 0 to 1: run discover again"):
        load(folder)


@pytest.mark.parametrize("changes", [{"weight": -np.ones(1)}, {"weight": np.array([2.5])}, {"weight": np.ones(0)}])
def test_a_vocabulary_with_absurd_weights(folder: Path, changes: dict[str, Any]) -> None:
    write(folder, words=changes)
    with pytest.raises(InputError, match=r"'.*words.safetensors' is damaged \(.*\): run discover again"):
        load(folder)


@pytest.mark.parametrize(
    "changes", [{"axes": np.full((1, 2), 3e38, np.float32)}, {"rarity": np.full(2, 1e300)}, {"rarity": -np.ones(2)}]
)
def test_a_vocabulary_with_numbers_out_of_range(folder: Path, changes: dict[str, Any]) -> None:
    write(folder, words=changes)
    with pytest.raises(InputError, match=r"is damaged \(its numbers are out of range\): run discover again"):
        load(folder)


@pytest.mark.parametrize("fit", [{"temperature": 0}, {"temperature": -1}, {"temperature": 1e-300}, {"trust": 1.5}])
@pytest.mark.parametrize("name", ["within", "across"])
def test_a_calibration_that_gives_no_probabilities(folder: Path, name: str, fit: dict[str, float]) -> None:
    write(folder)
    confidence = {**FACTS["confidence"], name: {**FACTS["confidence"][name], **fit}}
    (folder / layout.RUN).write_text(json.dumps({**FACTS, "confidence": confidence}))
    with pytest.raises(InputError, match=r"is damaged \(the calibration .*\): run discover again"):
        load(folder)


@pytest.mark.parametrize("name", ["features", "centroids"])
def test_features_and_centroids_that_overflow(folder: Path, name: str) -> None:
    """All features have unit length. The squares of larger ones may be infinite."""
    huge = {name: np.full((3, 3), 1e30, dtype=np.float32)}
    write(folder, **{"features" if name == "features" else "clusters": huge})
    with pytest.raises(InputError, match="do not belong together"):
        load(folder)
