"""Malicious folders: a run or an encoder that was made to do harm is refused, and nothing in it is executed.

More cases are in tests/encoders.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.run_files import CATEGORIES, EDITS, FACTS, arrays, write_run

from subtaxa.discovery import Discovery
from subtaxa.encoders.folder_check import check_folder
from subtaxa.encoders.loading import load_pipeline
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import array_files, layout
from subtaxa.runtime import json_files
from subtaxa.taxonomy.edit_log import write_log

Harm = Callable[[Path], Any]
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]
HUGE_HEADER = struct.pack("<Q", 10 * 2**30) + b"{}"


class Evil:
    """An object that runs code when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def write_model(folder: Path) -> Path:
    """A folder that passes all checks before loading, but is not a model."""
    write_json(folder / "config.json", {"model_type": "bert", "text_config": {}})
    write_json(folder / "modules.json", MODULES)
    write_json(folder / "1_Pooling" / "config.json", {})
    array_files.write_arrays(folder / "model.safetensors", {"x": np.zeros(1, dtype=np.float32)})
    return folder


def evil_pickle(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(pickle.dumps(Evil(folder.parent / "evil code ran")))


def module(**changes: str) -> Harm:
    return lambda folder: write_json(folder / "modules.json", [*MODULES, {**MODULES[1], **changes}])


def pickled_dense(folder: Path) -> None:
    module(path="2_Dense", type="sentence_transformers.models.Dense")(folder)
    evil_pickle(folder, "2_Dense/pytorch_model.bin")


def only_pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    evil_pickle(folder, "pytorch_model.bin")


def code(folder: Path, config: dict[str, Any]) -> None:
    """A configuration that asks for code, and the code in a file without the ending of code."""
    (folder / "evil").write_text(f"open({str(folder.parent / 'evil code ran')!r}, 'w')")
    write_json(folder / "config.json", config)


def sparse(path: Path) -> None:
    """A file of sixteen times the limit that `smaller` sets, without any blocks on the disk."""
    path.touch()
    os.truncate(path, 2**24)


ENCODERS: dict[str, tuple[Harm, str]] = {
    "pickled weights": (only_pickled, "weights are pickled"),
    "pickled weights of a later module": (pickled_dense, r"2_Dense/pytorch_model\.bin' are pickled"),
    "a pickle": (lambda folder: evil_pickle(folder, "state.pkl"), "is code or a pickle"),
    "code": (lambda folder: code(folder, {"auto_map": {"AutoModel": "evil.Model"}}), "asks for its own code.*auto_map"),
    "code, deeper": (
        lambda folder: code(folder, {"text_config": {"x": [{"auto_map": {"AutoModel": "evil.Model"}}]}}),
        "asks for its own code.*auto_map",
    ),
    "code for the tokenizer": (
        lambda folder: write_json(folder / "tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.T", None]}}),
        "never runs code",
    ),
    "trust that a file gives itself": (
        lambda folder: write_json(folder / "sentence_bert_config.json", {"model_args": {"trust_remote_code": True}}),
        "never runs code",
    ),
    "a kernel from the hub": (
        lambda folder: write_json(folder / "sentence_bert_config.json", {"model_args": {"attn_implementation": "x/y"}}),
        "never runs code",
    ),
    "a module of its own": (module(type="evil.Model"), "are loaded"),
    "a module that loads others": (module(type="sentence_transformers.models.Router"), "are loaded"),
    "a function as a module": (module(type="sentence_transformers.util.misc.import_from_string"), "are loaded"),
    "a path upwards": (module(path="../elsewhere"), "points outside the model folder"),
    "an absolute path": (module(path="/etc"), "points outside the model folder"),
    "a path with a NUL": (module(path="a\0b"), "to an odd name"),
    "a path of 300 letters": (module(path="x" * 300), "to an odd name"),
    "a path of 100,000 letters": (module(path="x" * 100_000), "to an odd name"),
    "a path of 3,000 folders": (module(path="a/" * 3000), "to an odd name"),
    "a module of 100,000 letters": (module(type="x" * 100_000), "are loaded"),
    "weights with a NUL": (
        lambda folder: write_json(folder / "model.safetensors.index.json", {"weight_map": {"x": "a\0b"}}),
        "to an odd name",
    ),
    "weights of 300 letters": (
        lambda folder: write_json(folder / "model.safetensors.index.json", {"weight_map": {"x": "x" * 300}}),
        "to an odd name",
    ),
    "weights elsewhere": (
        lambda folder: write_json(
            folder / "model.safetensors.index.json", {"weight_map": {"x": "../../home/model.safetensors"}}
        ),
        "points outside the model folder",
    ),
    "a link upwards": (lambda folder: (folder / "vocab.txt").symlink_to("../../secret"), "links to a file outside"),
    "a link to an absolute path": (lambda folder: (folder / "vocab.txt").symlink_to("/etc/passwd"), "links to a file"),
    "a linked folder": (lambda folder: (folder / "2_Dense").symlink_to("/etc"), "links to a file outside"),
    "a pipe": (lambda folder: os.mkfifo(folder / "vocab.json"), "is not a regular file"),
    "an adapter": (
        lambda folder: write_json(folder / "adapter_config.json", {"base_model_name_or_path": "evil/model"}),
        "adapter of another model",
    ),
    "no list of modules": (lambda folder: write_json(folder / "modules.json", {}), "is damaged"),
    "modules without a type": (lambda folder: write_json(folder / "modules.json", [{"path": ""}]), "has no 'type'"),
    "deep nesting": (lambda folder: write_json(folder / "config.json", "[" * 100_000), "not valid JSON"),
    "megabytes of configuration": (lambda folder: sparse(folder / "config.json"), "larger than 1 MB"),
}


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of one megabyte keeps the tests small."""
    monkeypatch.setattr(json_files, "LARGEST", 2**20)


def test_the_folders_are_accepted_before_they_are_changed(tmp_path: Path) -> None:
    write_model(write_run(tmp_path / "run") / "model")
    check_folder(tmp_path / "run" / "model")
    assert len(Discovery.load(tmp_path / "run").taxonomy_) == 3
    with pytest.raises(InputError, match="cannot load the encoder"):  # It passes the checks but cannot be loaded.
        load_pipeline(str(tmp_path / "run" / "model"))


def test_the_pickle_runs_code(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    evil_pickle(tmp_path / "model", "x.bin")
    pickle.loads((tmp_path / "model" / "x.bin").read_bytes())  # noqa: S301
    assert (tmp_path / "evil code ran").exists()


@pytest.mark.parametrize("name", ENCODERS)
def test_a_malicious_encoder_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_model(write_run(tmp_path / "run") / "model")
    harm, sentence = ENCODERS[name]
    harm(folder)
    for load in (lambda: load_pipeline(str(folder)), lambda: Discovery.load(tmp_path / "run")):
        with pytest.raises(InputError, match=sentence) as caught:
            load()
        assert len(str(caught.value)) < 1000
        assert str(caught.value).isprintable()
    assert not list(tmp_path.rglob("evil code ran"))


def test_weights_with_a_header_of_ten_gigabytes(tmp_path: Path) -> None:
    (write_model(tmp_path / "model") / "model.safetensors").write_bytes(HUGE_HEADER)
    with pytest.raises(InputError, match="cannot load the encoder"):
        load_pipeline(str(tmp_path / "model"))


def facts(**changes: Any) -> Harm:
    return lambda folder: write_json(folder / layout.RUN, {**FACTS, **changes})


def category(**changes: Any) -> Harm:
    rows = CATEGORIES.to_dict()
    return lambda folder: write_json(folder / layout.TAXONOMY, [{**rows[0], **changes}, *rows[1:]])


def edit(**what: Any) -> Harm:
    def build(folder: Path) -> None:
        write_json(folder / layout.TRAINED, CATEGORIES.to_dict())
        (folder / layout.EDITS).write_text(write_log([EDITS[0], {"edit": 2, "says": "", **what}]))

    return build


def tree(nodes_of: list[dict[str, Any]] | None = None, parts: tuple[int, ...] = (0, 1, 2), **what: Any) -> Harm:
    """A category tree: the two texts of "money" are parts that merge into node 3. With `what`, also an edit."""

    def build(folder: Path) -> None:
        array_files.write_arrays(
            folder / layout.TREE,
            {
                "parts": np.array(parts),
                "part_labels": np.array([0, 0, 1]),
                "children": np.array([[0, 1]]),
                "heights": np.array([1.0]),
            },
        )
        node = {"name": "x", "keywords": [], "examples": [], "stability": None}
        own = [{"id": i, "nodes": [i]} for i in range(3)] if nodes_of is None else nodes_of
        write_json(folder / layout.TREE_NODES, {"nodes": [node] * 4, "categories": own})
        if what:
            edit(**what)(folder)

    return build


def link(name: str, to: str) -> Harm:
    def build(folder: Path) -> None:
        if (folder / name).is_dir():
            (folder / name).rename(folder.parent / "moved")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)

    return build


RUNS: dict[str, tuple[Harm, str]] = {
    "megabytes of facts": (lambda folder: sparse(folder / layout.RUN), "larger than 1 MB"),
    "megabytes of categories": (lambda folder: sparse(folder / layout.TAXONOMY), "larger than 1 MB"),
    "megabytes of edits": (lambda folder: sparse(folder / layout.EDITS), "larger than 1 MB|missing"),
    "deep nesting": (lambda folder: write_json(folder / layout.RUN, '{"format":' * 100_000), "is damaged"),
    "deep nesting of categories": (lambda folder: write_json(folder / layout.TAXONOMY, "[" * 100_000), "is damaged"),
    "settings that are a list": (facts(settings=[]), "'settings' of it is a list"),
    "a setting there is not": (facts(settings={**FACTS["settings"], "evil": 1}), "unknown setting 'evil'"),
    "a setting out of range": (facts(settings={**FACTS["settings"], "epochs": 10**9}), "epochs is 1000000000"),
    "settings without a method": (
        facts(settings={n: v for n, v in FACTS["settings"].items() if n != "method"}),
        "it has no 'method'",
    ),
    "a negative seed": (facts(seed=-1), "the seed is -1"),
    "labels that do not match": (facts(labels=["money", "other"]), "do not belong together"),
    "labels out of order": (facts(labels=["post", "money"]), "do not belong together"),
    "numbers of labels there are not": (
        facts(numbers={"evil": {"chosen": 1, "low": 1, "high": 1, "curve": []}}),
        "do not belong together",
    ),
    "a category below a label there is not": (category(parent="evil"), "do not belong together"),
    "an infinite id": (facts(next_id=float("inf")), "'next_id' of it is inf"),
    "curves that are none": (facts(numbers={"money": {"chosen": 1, "low": 1, "high": 1, "curve": [[1]]}}), "curves"),
    "times that are words": (facts(timings={"x": "long"}), "'x' of 'timings' of it is a string"),
    "data that are missing": (facts(data={}), "'data' of it has no 'source'"),
    "labels that are numbers": (facts(labels=[1]), "item 0 of 'labels' of it is 1"),
    "a category with an infinite id": (category(id=float("inf")), "'id' of item 0 of it is inf"),
    "a category with an id beyond all numbers": (category(id=10**30), "'id' of item 0 of it is 1000"),
    "keywords that are letters": (category(keywords="abc"), "'keywords' of item 0 of it is a string"),
    "a name that is a number": (category(name=1), "'name' of item 0 of it is 1"),
    "two categories with one id": (category(id=1), "do not belong together"),
    "an edit of a row beyond all numbers": (edit(do="move", rows=[10**30], to=0), "line 2 of .* is damaged"),
    "an edit of a row there is not": (edit(do="move", rows=[2**52], to=0), "no text has row"),
    "an edit of true": (edit(do="rename", category=True, name="x"), "line 2 of .* is damaged"),
    "an edit of parts without rows": (edit(do="split", category=0, parts=[{"id": 0}]), "line 2 of .* is damaged"),
    "an edit that is none": (edit(do="__class__"), "line 2 of .* is damaged"),
    "a recut without a tree": (edit(do="recut", groups=[{"id": 3, "nodes": [3]}]), "this run has no tree"),
    "a recut to a node there is not": (tree(do="recut", groups=[{"id": 3, "nodes": [4]}]), "names a node that"),
    "a recut to a negative node": (tree(do="recut", groups=[{"id": 3, "nodes": [-1]}]), "names a node that"),
    "a recut to a part of a label": (
        tree(do="recut", groups=[{"id": 0, "nodes": [0]}]),
        "each part of a label exactly",
    ),
    "a recut to a part twice": (
        tree(do="recut", groups=[{"id": 0, "nodes": [0]}, {"id": 3, "nodes": [3]}]),
        "each part of a label exactly once",
    ),
    "a recut to nodes of two labels": (tree(do="recut", groups=[{"id": 3, "nodes": [2, 3]}]), "each part of a label"),
    "a recut without nodes": (tree(do="recut", groups=[{"id": 3, "nodes": []}]), "names a node that"),
    "a recut with the id of another label": (
        tree(do="recut", groups=[{"id": 2, "nodes": [3]}]),
        "the id of a category that stays",
    ),
    "an answer to a node there is not": (
        tree(do="answer", groups=[{"id": 3, "nodes": [99]}], left=0, right=1, same=True),
        "names a node that",
    ),
    "an answer that is no answer": (
        tree(do="answer", groups=[], left=0, right=1, same="yes"),
        "line 2 of .* is damaged",
    ),
    "a tree with a text of another label": (tree(parts=(0, 2, 2)), "do not belong together"),
    "a tree with a category there is not": (tree([{"id": 9, "nodes": [3]}]), "do not belong together"),
    "a tree with a category of another label": (tree([{"id": 0, "nodes": [2]}]), "do not belong together"),
    "a tree with a category without nodes": (tree([{"id": 0, "nodes": []}]), "do not belong together"),
    "a tree that is pickled": (
        lambda folder: (tree()(folder), evil_pickle(folder, layout.TREE)),  # type: ignore[func-returns-value]
        "is damaged",
    ),
    "a tree without arrays": (
        lambda folder: (tree()(folder), (folder / layout.TREE).unlink()),  # type: ignore[func-returns-value]
        "is missing",
    ),
    "a header of ten gigabytes": (lambda f: (f / layout.CLUSTERS).write_bytes(HUGE_HEADER), "is damaged"),
    "features that are pickled": (lambda folder: evil_pickle(folder, layout.FEATURES), "is damaged"),
    "features that are missing": (lambda folder: (folder / layout.FEATURES).unlink(), "is missing"),
    "fewer features than texts": (
        lambda f: array_files.write_arrays(f / layout.FEATURES, {"features": np.eye(2, dtype=np.float32)}),
        "do not belong together",
    ),
    "features of one dimension": (
        lambda f: array_files.write_arrays(f / layout.FEATURES, {"features": np.ones(3, dtype=np.float32)}),
        "do not belong together",
    ),
    "centroids of one dimension": (
        lambda f: array_files.write_arrays(f / layout.CLUSTERS, {**arrays(), "centroids": np.ones(3)}),
        "do not belong together",
    ),
    "parents there are not": (
        lambda f: array_files.write_arrays(f / layout.CLUSTERS, {**arrays(), "parents": np.array([0, 0, 99])}),
        "do not belong together",
    ),
    "a numberless map": (
        lambda f: array_files.write_arrays(f / layout.CLUSTERS, {**arrays(), "map": np.zeros((3, 2), dtype=bool)}),
        "do not belong together",
    ),
    "facts that are elsewhere": (link(layout.RUN, "../run.json"), "is not a finished run|is a link"),
    "assignments that are elsewhere": (link("assignments.csv", "/etc/passwd"), "is a link"),
    "a model that is elsewhere": (link(layout.MODEL, "../moved"), "is a link"),
    "a report that is a pipe": (lambda folder: os.mkfifo(folder / layout.REPORT), "is not a regular file"),
    "assignments that are cut off": (lambda f: (f / "assignments.csv").write_text('row,text,label\n1,"x'), "damaged"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_malicious_run_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "run")
    write_model(folder / "model")
    harm, sentence = RUNS[name]
    harm(folder)
    with pytest.raises(SubtaxaError, match=sentence):
        Discovery.load(folder)
    assert not list(tmp_path.rglob("evil code ran"))


def test_arrays_larger_than_free_memory_are_refused_before_reading(tmp_path: Path) -> None:
    path = write_run(tmp_path) / layout.FEATURES
    os.truncate(path, 2**42)
    with pytest.raises(InputError, match="is larger than the free memory"):
        array_files.read_arrays(path)


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda folder: evil_pickle(folder, layout.WORDS), "is damaged"),
        (lambda folder: array_files.write_arrays(folder / layout.WORDS, {"terms": np.zeros(3)}), "is damaged"),
        (
            lambda folder: array_files.write_arrays(
                folder / layout.WORDS,
                {
                    "terms": np.frombuffer(b"one\ntwo", dtype=np.uint8),
                    "common": np.frombuffer(b"", dtype=np.uint8),
                    "rarity": np.ones(2),
                    "axes": np.ones((1, 3), dtype=np.float32),
                    "weight": np.ones(1),
                },
            ),
            "is damaged",
        ),
    ],
)
def test_a_malicious_vocabulary_is_refused(tmp_path: Path, harm: Callable[[Path], None], sentence: str) -> None:
    folder = write_run(tmp_path / "run")
    write_model(folder / "model")
    harm(folder)
    with pytest.raises(SubtaxaError, match=sentence):
        _ = Discovery.load(folder).vocabulary_
    assert not list(tmp_path.rglob("evil code ran"))


def test_the_encoder_of_a_run_is_the_one_in_its_folder(tmp_path: Path) -> None:
    """The encoder's name in run.json is never looked up on the hub."""
    folder = write_run(tmp_path / "run")
    write_model(folder / "model")
    facts(settings={**FACTS["settings"], "encoder": "evil/model"})(folder)
    model = Discovery.load(folder)
    with pytest.raises(InputError, match=r"cannot load the encoder '.*/run/model'"):
        _ = model.encoder_
