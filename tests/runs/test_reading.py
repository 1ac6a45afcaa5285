"""Reading a run: its files read back unchanged, and damage leads to one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.run_files import FACTS, write_run
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from subtaxa.data.tables import csv_text, parquet_bytes
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.report.text_tables import OUTLIER_COLUMNS
from subtaxa.runs import layout, load
from subtaxa.runs.reading import read_assignments, read_json, read_run, read_taxonomy
from subtaxa.runtime.json_files import json_text
from subtaxa.taxonomy.categories import Category, Taxonomy

repeatable = hypothesis_settings(max_examples=300, derandomize=True, deadline=None, database=None)
# The characters that begin a formula. The last four are the fullwidth forms of the first four.
FORMULA_STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
strings = st.text(st.characters(exclude_categories=["Cs"])) | st.text("' ab,\"|" + FORMULA_STARTS, max_size=8)


def test_read_run_returns_the_facts(tmp_path: Path) -> None:
    facts = {**FACTS, "seed": 3, "history": [], "of a later version": 1}
    (tmp_path / layout.RUN).write_text(json_text(facts))
    assert read_run(tmp_path) == facts


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "is not a finished run: it has no run.json"),
        ({"checkpoint": ""}, "is not a finished run: it was not finished: run discover again with --resume"),
        ({"run.json": '{"format": 2}'}, "was not written by this version of subtaxa: run discover again"),
        ({"run.json": '{"format": 0}'}, "was not written by this version of subtaxa: run discover again"),
        ({"run.json": "[1]"}, "was not written by this version of subtaxa: run discover again"),
        ({"run.json": '{"format": '}, "is damaged"),
        ({"run.json": "\udcff"}, "is damaged"),
        ({"run.json": "[" * 100_000}, "is damaged"),
    ],
)
def test_read_run_says_why_a_folder_is_not_a_run(tmp_path: Path, files: dict[str, str], sentence: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_run(tmp_path)
    assert sentence in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_read_run_refuses_a_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "file"):
        with pytest.raises(InputError, match=f"there is no folder .*{name}.*: give the folder that discover wrote"):
            read_run(tmp_path / name)


def test_read_json_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is missing: the run folder is not complete"):
        read_json(tmp_path / "x.json")


def test_taxonomy_reads_back(tmp_path: Path) -> None:
    taxonomy = Taxonomy((Category(0, "a", "b\r\n=1", ("k",), ("half \ud800", "e"), 3),))
    (tmp_path / layout.TAXONOMY).write_text(json_text(taxonomy.to_dict()))
    read = Taxonomy((Category(0, "a", "b\r\n=1", ("k",), ("half \ufffd", "e"), 3),))  # No file can hold half a pair.
    assert read_taxonomy(tmp_path) == read


@pytest.mark.parametrize("content", ["{}x", "[1]", '[{"id": 0}]', '{"a": 1}', "null", '[{"id": "x"}]'])
def test_a_damaged_taxonomy_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / layout.TAXONOMY).write_text(content)
    with pytest.raises(InputError, match=r"taxonomy\.json' is damaged.*run discover again"):
        read_taxonomy(tmp_path)


def test_a_missing_taxonomy_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"taxonomy\.json' is missing"):
        read_taxonomy(tmp_path)


@repeatable
@given(st.lists(st.tuples(strings, strings), min_size=1, max_size=5))
@example([("line\rbreak", "a\r")])
def test_assignments_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("run")
    columns = {"row": list(range(len(rows))), "text": [a for a, _ in rows], "label": [b for _, b in rows]}
    extra = {"confidence": [0.5] * len(rows)}
    (folder / "assignments.csv").write_text(csv_text(columns | extra), encoding="utf-8", newline="")
    assert read_assignments(folder) == columns
    (folder / "assignments.csv").unlink()
    (folder / "assignments.parquet").write_bytes(parquet_bytes(columns | extra))
    assert read_assignments(folder) == columns


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("assignments.csv", b"row,text,label\nzero,a,b\n"),
        ("assignments.csv", b"row,text,label\n0,\xff\xfe,b\n"),
        ("assignments.csv", b"row,text\n0,a\n"),
        ("assignments.csv", b"row,text,label\n0,a\n"),
        ("assignments.parquet", b"PAR1 and no more"),
    ],
)
def test_damaged_assignments_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    """A table that was edited or cut off leads to one sentence, not to a traceback."""
    from subtaxa.discovery import Discovery

    monkeypatch.setattr(load, "check_folder", lambda folder: None)  # The run has no encoder.
    folder = write_run(tmp_path / "run")
    assert len(Discovery.load(folder).taxonomy_) == 3
    (folder / "assignments.csv").unlink()
    (folder / name).write_bytes(content)
    with pytest.raises(SubtaxaError, match=r"assignments.* damaged"):
        Discovery.load(folder)
    with pytest.raises(SubtaxaError, match=r"assignments.* damaged"):
        read_assignments(folder, OUTLIER_COLUMNS)
