"""Properties that hold for any input: readers, filters, clustering and the JSON of a run.

Those of tables and of the edit log are in test_storage.py and test_edits.py.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.run_files import CATEGORIES, FACTS, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter
from subtaxa.clustering.rules import cluster
from subtaxa.data.readers import iter_tables
from subtaxa.data.tables import parquet_bytes
from subtaxa.data.texts import CoarseTexts, read_texts
from subtaxa.data.values import clean
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import layout, reading, schema
from subtaxa.runtime import json_files
from subtaxa.runtime.arrays import unit

quickly = settings(max_examples=40, derandomize=True, deadline=None, database=None)
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text(' ,;\t"\r\n\0ab', max_size=12)
tables = st.lists(st.tuples(strings, strings), min_size=1, max_size=8)
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
json_values = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner), max_leaves=9
)


def usable(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The rows that reading must return: those with a text and a label. NULs become blanks, and labels are stripped."""
    seen = [(clean(text), clean(label).strip()) for text, label in rows]
    return [(text, label) for text, label in seen if text.strip() and label]


def check_read(path: Path, rows: list[tuple[str, str]]) -> None:
    kept = usable(rows)
    if not kept:
        with pytest.raises(InputError, match="no row of"):
            read_texts(path, "text", "label")
        return
    read = read_texts(path, "text", "label")
    assert list(zip(read.texts, read.labels, strict=True)) == kept
    assert len(read) + len(read.skipped) == len(rows)
    assert sorted([*read.rows, *(skip.row for skip in read.skipped)]) == list(range(1, len(rows) + 1))
    (table,) = iter_tables(path, "text")
    assert list(table["text"]) == [clean(text) for text, _ in rows]


@quickly
@given(tables)
def test_csv_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(
        "\ufeff" + out.getvalue(), encoding="utf-8", newline=""
    )  # Without the mark, many NULs would look like UTF-16.
    check_read(path, rows)


@quickly
@given(tables)
def test_jsonl_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
    check_read(path, rows)


@quickly
@given(tables)
def test_parquet_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    path.write_bytes(parquet_bytes({"text": [t for t, _ in rows], "label": [c for _, c in rows]}))
    check_read(path, rows)


@quickly
@given(st.lists(st.tuples(json_values, json_values), max_size=6))
def test_any_values_in_memory_are_read_or_refused(rows: list[tuple[Any, Any]]) -> None:
    try:
        read = CoarseTexts.from_lists([text for text, _ in rows], [label for _, label in rows])
    except InputError:
        return
    assert all(type(value) is str and value.strip() for value in read.texts + read.labels)
    "".join(read.texts + read.labels).encode()


@quickly
@given(st.binary(max_size=400), st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str) -> None:
    path = tmp_path_factory.mktemp("bytes") / f"a.{ending}"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        assert len(read_texts(path)) > 0


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Lists of distinct neighbours (N, k), labels (N,) and features (N, D)."""
    n = draw(st.integers(2, 12))
    k, seed = draw(st.integers(1, n)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    indices = torch.from_numpy(np.stack([rng.permutation(n)[:k] for _ in range(n)]))  # (N, k)
    return indices, torch.from_numpy(rng.integers(0, 3, n)), torch.from_numpy(rng.normal(size=(n, 6)))


@quickly
@given(neighbours())
def test_filters_match_their_definitions(given: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    indices, labels, features = given
    kept = label_filter(indices, labels)
    mutual = reciprocal_filter(indices, kept)
    ranked = rank_filter(features, features, indices, 2)
    lists = [
        {int(j) for j, there in zip(row, mask, strict=True) if there} for row, mask in zip(indices, kept, strict=True)
    ]
    top = [frozenset(row.topk(2).indices.tolist()) for row in features]
    for i, row in enumerate(indices.tolist()):
        for place, j in enumerate(row):
            assert bool(kept[i, place]) == bool(labels[i] == labels[j])
            assert bool(mutual[i, place]) == (j in lists[i] and i in lists[j])
            assert bool(ranked[i, place]) == (top[i] == top[j])


@quickly
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_clustering_puts_every_text_below_its_label(n: int, n_labels: int, seed: int, alike: bool) -> None:
    rng = np.random.default_rng(seed)
    features = unit(np.ones((n, 5)) if alike else rng.normal(size=(n, 5)))  # (N, D)
    labels = np.unique(rng.integers(0, n_labels, n), return_inverse=True)[1]
    least = int(labels.max()) + 1
    found = cluster(features, labels, least)
    assert set(found.parents.tolist()) == set(labels.tolist())
    assert np.isfinite(found.centroids).all()
    assert (found.parents[found.nearest(features, labels)] == labels).all()
    again = cluster(features, labels, least)
    assert np.array_equal(found.centroids, again.centroids)


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in a JSON document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = changed(content[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("name", [layout.RUN, layout.TAXONOMY])
def test_a_run_with_any_value_in_its_json_is_read_or_refused(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "run")
    content = FACTS if name == layout.RUN else json.loads(json.dumps(CATEGORIES.to_dict()))

    @quickly
    @given(st.sampled_from(places(content)), json_values)
    def check(path: tuple[Any, ...], value: Any) -> None:
        (folder / name).write_text(json.dumps(changed(content, path, value)))
        with contextlib.suppress(SubtaxaError):
            if name == layout.RUN:
                facts = reading.read_run(folder)
                reading.read_category_counts(facts)
                assert json_files.difference(facts, schema.RUN) is None
            else:
                assert str(reading.read_taxonomy(folder)) is not None

    check()


@quickly
@given(json_values)
def test_difference_accepts_only_the_given_shape(value: Any) -> None:
    assert (json_files.difference(value, {"a": [int]}) is None) == (
        isinstance(value, dict)
        and isinstance(value.get("a"), list)
        and all(type(i) is int and abs(i) < 2**53 for i in value["a"])
    )
