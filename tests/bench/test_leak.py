"""No method can reach the fine labels during a benchmark. The test inspects every object that a method holds."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.corpus import planted_corpus

from subtaxa.bench import trained_features
from subtaxa.bench.datasets import Dataset, Part
from subtaxa.bench.fine_watcher import FineWatcher
from subtaxa.methods import method_class, settings_for, variants
from subtaxa.methods.base import Method
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer

UNSEEN = (types.ModuleType, type, types.BuiltinFunctionType, types.CodeType, str, bytes, int, float, complex)


def children(thing: Any) -> Iterator[Any]:
    """The objects that an object holds, without modules, classes and globals, which are the program itself."""
    if isinstance(thing, UNSEEN) or thing is None:
        return
    if isinstance(thing, (dict, types.MappingProxyType)):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from thing
    elif isinstance(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, types.FunctionType):
        yield from (thing.__defaults__, thing.__kwdefaults__)
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _full(cell))
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, weakref.ref):
        yield thing()
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        yield from thing.ravel()
    yield getattr(thing, "__dict__", None)
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(thing, name, None)


def _full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # The cell is empty.
        return False


def reachable(root: Any) -> list[Any]:
    """Every reachable object, each once."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) not in seen:
            seen[id(thing)] = thing  # A reference keeps the id from being reused.
            waiting += children(thing)
    return list(seen.values())


def leaks(root: Any, dataset: Dataset, watcher: FineWatcher) -> list[str]:
    """The fine labels that can be reached."""
    names, found = set(dataset.train.fine) | set(dataset.test.fine), []
    parts = [dataset, dataset.train, dataset.test, dataset.train.fine, dataset.test.fine]
    for thing in reachable(root):
        if isinstance(thing, str) and thing in names:
            found.append(f"the name {thing!r}")
        elif isinstance(thing, (FineWatcher, Dataset, Part)) or any(thing is part for part in parts):
            found.append(f"a {type(thing).__name__}")
        elif isinstance(thing, torch.Tensor) and thing.numel() and thing.data_ptr() == watcher.fine.data_ptr():
            found.append("the watcher's numbers")
        elif isinstance(thing, np.ndarray) and thing.dtype.kind == "U" and names & set(thing.ravel().tolist()):
            found.append("an array of names")
    return found


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    parts = []
    for seed in (0, 1):
        texts, coarse, fine = planted_corpus(6, seed)
        parts.append(Part.of(texts, coarse, [f"the category {name}" for name in fine]))
    return Dataset("planted", *parts)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Method, FineWatcher]]:
    """The methods that a FineWatcher can observe."""
    caught: list[tuple[Method, FineWatcher]] = []
    original = Trainer.run

    def run(self: Trainer, name: str, method: Method, encoder: Any, data: Any, epochs: int, watcher: Any = None) -> Any:
        if watcher is not None:
            caught.append((method, watcher))
        return original(self, name, method, encoder, data, epochs, watcher)

    monkeypatch.setattr(Trainer, "run", run)
    return caught


@pytest.mark.parametrize("name", variants())
def test_no_method_can_reach_the_fine_labels(
    name: str, tiny_encoder: str, dataset: Dataset, spy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The search runs before the loss of a batch, after an epoch and at the end."""
    found: list[list[str]] = []
    settings = settings_for("default", method=name, encoder=tiny_encoder, epochs=1, neighbours=5, batch_size=32)
    settings = settings.for_data(dataset.train.texts)
    kind = method_class(name)
    loss, epoch = kind.loss, FineWatcher.epoch

    def looked_at(self: Method, batch: Any) -> Any:
        if len(found) < 1:
            found.append(leaks(self, dataset, spy[0][1]))
        return loss(self, batch)

    def at_the_end(self: FineWatcher) -> Any:
        if spy:
            found.append(leaks(spy[0][0], dataset, self))
        return epoch(self)

    monkeypatch.setattr(kind, "loss", looked_at)
    monkeypatch.setattr(FineWatcher, "epoch", at_the_end)
    trained_features.trained_features(dataset, settings, 0, Progress(), tmp_path, curves=True)
    ((method, watcher),) = spy
    assert isinstance(method, kind)
    found.append(leaks(method, dataset, watcher))
    assert found == [[]] * (2 if name == "bert" else 3)  # BERT has no training.
    assert any(thing is method.encoder.tower for thing in reachable(method))
    assert any(thing is method.data.labels for thing in reachable(method))


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def in_a_closure(secret: Any) -> Callable[[], Any]:
    return lambda: secret


def as_a_default(secret: Any) -> Callable[[], Any]:
    def given(value: Any = secret) -> Any:
        return value

    return given


def on_a_module(secret: Any) -> torch.nn.Module:
    module = torch.nn.Sequential(torch.nn.Linear(1, 1))
    module[0].note = secret
    return module


HIDING: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda secret: secret,
    "nested": lambda secret: {"a": [({"b": secret},)]},
    "set": lambda secret: {secret},
    "key": lambda secret: {secret: 1},
    "slot": Slotted,
    "closure": in_a_closure,
    "default": as_a_default,
    "partial": lambda secret: functools.partial(print, secret),
    "method": lambda secret: Slotted(secret).__init__,
    "module": on_a_module,
    "array": lambda secret: np.array([secret], dtype=object),
}


@pytest.mark.parametrize("place", HIDING)
def test_the_search_finds_hidden_labels(place: str, dataset: Dataset) -> None:
    watcher = FineWatcher(dataset.train.fine, dataset.test.fine, 6, 0, lambda: np.empty((0, 1), dtype=np.float32))
    method = Method(settings_for("default"))
    assert leaks(method, dataset, watcher) == []
    for secret in (dataset.train.fine[0], watcher, dataset.test.fine):
        method.hidden = HIDING[place](secret)  # type: ignore[attr-defined]
        assert leaks(method, dataset, watcher), f"{type(secret).__name__} in a {place}"


def test_the_search_finds_numbers_and_arrays_of_names(dataset: Dataset) -> None:
    watcher = FineWatcher(dataset.train.fine, dataset.test.fine, 6, 0, lambda: np.empty((0, 1), dtype=np.float32))
    for secret in (watcher.fine, watcher.fine[:5], np.array(dataset.train.fine), watcher.mined, watcher.features):
        assert bool(leaks([secret], dataset, watcher)) == (secret is not watcher.features)


def test_watching_changes_nothing(
    tiny_encoder: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = settings_for(
        "default", method="dna", encoder=tiny_encoder, epochs=2, neighbours=5, batch_size=16, learning_rate=1e-3
    )
    watched, _, history = trained_features.trained_features(dataset, settings, 0, Progress(), tmp_path, curves=True)
    train = trained_features.train
    monkeypatch.setattr(
        trained_features, "train", lambda *arguments: train(*arguments[:5])
    )  # Without folder and watcher.
    alone, _, plain = trained_features.trained_features(dataset, settings, 0, Progress(), tmp_path, curves=True)
    assert "acc" in history[-1].keys() - plain[-1].keys()
    np.testing.assert_array_equal(watched, alone)
