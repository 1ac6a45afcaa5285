"""The run folder: tables that read back, spreadsheets that run nothing, and a result that is whole or absent."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.run_files import FACTS, write_run
from hypothesis import assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from subtaxa.data.tables import csv_text, escape_formula, parquet_bytes, unescape_formula
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.report.text_tables import OUTLIER_COLUMNS
from subtaxa.runs import layout, load, staging
from subtaxa.runs.array_files import read_arrays, write_arrays
from subtaxa.runs.reading import read_assignments, read_json, read_run, read_taxonomy
from subtaxa.runs.staging import staged
from subtaxa.runs.target import check_target, clear, clear_checkpoint
from subtaxa.runtime.json_files import json_text
from subtaxa.taxonomy.categories import Category, Taxonomy

repeatable = hypothesis_settings(max_examples=300, derandomize=True, deadline=None, database=None)
STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # the last four are the fullwidth forms of the first
strings = st.text(st.characters(exclude_categories=["Cs"])) | st.text("' ab,\"|" + STARTS, max_size=8)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@repeatable
@given(strings)
@example("")
@example("'")
@example("'''=")
@example("'plain")
def test_original_undoes_neutral(cell: str) -> None:
    assert unescape_formula(escape_formula(cell)) == cell


@repeatable
@given(strings)
def test_no_neutral_cell_begins_a_formula(cell: str) -> None:
    assert not escape_formula(cell).startswith(tuple(STARTS))


@pytest.mark.parametrize("cell", [*(f"{start}1" for start in STARTS), "@SUM(A1)", "'=1", "''-1"])
def test_dangerous_cells_get_an_apostrophe(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "plain", "a=b", "'quoted'", "'", " =1", "1-2", "👍"])
def test_harmless_cells_stay_as_they_are(cell: str) -> None:
    assert escape_formula(cell) == unescape_formula(cell) == cell


@repeatable
@given(st.lists(st.tuples(strings, strings), max_size=6), strings)
@example([("line\rbreak", "label")], "text")
@example([("a\0b", "")], "")
@example([("", "")], "")
def test_csv_reads_back(rows: list[tuple[str, str]], name: str) -> None:
    assume(name not in ("row", "label of it"))
    text = csv_text({"row": range(len(rows)), name: [a for a, _ in rows], "label of it": [b for _, b in rows]})
    header, *body = rows_of(text)
    assert [unescape_formula(cell) for cell in header] == ["row", name, "label of it"]
    assert [[cell if i == 0 else unescape_formula(cell) for i, cell in enumerate(row)] for row in body] == [
        [str(i), a, b] for i, (a, b) in enumerate(rows)
    ]


def test_csv_cells_by_hand() -> None:
    text = csv_text(
        {
            "n": [1, np.int64(2)],
            "share": [0.5, np.float32(2 / 3)],
            "=name": ["=1+1", 'say "hi", twice'],
            "bad": ["half \ud800", None],
        }
    )
    assert text.replace("\r\n", "\n") == 'n,share,\'=name,bad\n1,0.5000,\'=1+1,half ?\n2,0.6667,"say ""hi"", twice",\n'
    text.encode()


def test_csv_columns_must_be_of_one_length() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        csv_text({"a": [1, 2], "b": [1]})


def test_parquet_reads_back() -> None:
    import pyarrow.parquet as pq

    columns = {"row": [0, 1], "text": ["=1+1\r\n", "half \ud800"], "confidence": [0.25, 1.0]}
    found = pq.read_table(io.BytesIO(parquet_bytes(columns))).to_pydict()
    assert found == {"row": [0, 1], "text": ["=1+1\r\n", "half ?"], "confidence": [0.25, 1.0]}


def test_json_holds_numpy_and_any_string() -> None:
    content = {"a": np.int64(3), "b": np.float32(0.5), "c": "é\ud800😀", "d": np.True_}
    text = json_text(content)
    assert json.loads(text) == {"a": 3, "b": 0.5, "c": "é\ud800😀", "d": True}
    assert text.isascii()
    with pytest.raises(TypeError, match="set cannot be written as JSON"):
        json_text({"a": {1}})


def test_arrays_read_back(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3).T, "keys": np.array([2**64 - 1], dtype=np.uint64)}
    write_arrays(tmp_path / "a.safetensors", arrays)
    found = read_arrays(tmp_path / "a.safetensors")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert found["keys"].dtype == np.uint64


@pytest.mark.parametrize("damage", [b"", b"not safetensors", bytes(100)])
def test_damaged_arrays_are_one_sentence(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "a.safetensors").write_bytes(damage)
    with pytest.raises(SubtaxaError, match=r"'.*a\.safetensors' is damaged .*run discover again"):
        read_arrays(tmp_path / "a.safetensors")


def fill(folder: Path, *names: str, content: str = "old") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in (layout.MODEL, layout.CHECKPOINT):
            (folder / name).mkdir()
            (folder / name / "inside").write_text(content)
        else:
            (folder / name).write_text(content)
    return folder


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_or_empty_folder_is_a_fine_target(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("")
    for folder in (tmp_path, tmp_path / "new", tmp_path / "a" / "b"):
        check_target(folder, overwrite=False, resume=False)
    assert names_in(tmp_path) == {".hidden"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_foreign_files_is_always_refused(tmp_path: Path, overwrite: bool, resume: bool) -> None:
    fill(tmp_path / "run", layout.RUN, "thesis.doc")
    with pytest.raises(InputError, match=r"holds other files \('thesis\.doc'\): name a new folder"):
        check_target(tmp_path / "run", overwrite=overwrite, resume=resume)


def test_a_run_is_refused_unless_it_may_be_replaced_or_resumed(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", layout.RUN, layout.MODEL, layout.REPORT)
    check_target(folder, overwrite=True, resume=False)
    check_target(folder, overwrite=False, resume=True)
    with pytest.raises(InputError, match=r"already holds a run: .*--overwrite or --resume"):
        check_target(folder, overwrite=False, resume=False)


def test_a_file_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"):
        check_target(tmp_path / "file", overwrite=True, resume=True)


def test_clear_removes_our_files_and_nothing_else(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", "precious")
    folder = fill(tmp_path / "run", layout.RUN, layout.CHECKPOINT, "assignments.csv", "thesis.doc")
    (folder / layout.MODEL).symlink_to(outside)
    clear(folder)
    assert names_in(folder) == {"thesis.doc"}
    assert names_in(outside) == {"precious"}
    clear(folder)


def test_clear_checkpoint_removes_an_otherwise_empty_folder(tmp_path: Path) -> None:
    clear_checkpoint(fill(tmp_path / "a", layout.CHECKPOINT))
    clear_checkpoint(fill(tmp_path / "b", layout.CHECKPOINT, layout.RUN))
    clear_checkpoint(tmp_path / "never there")
    assert names_in(tmp_path) == {"b"}
    assert names_in(tmp_path / "b") == {layout.RUN}


WHOLE = (layout.RUN, layout.TAXONOMY, layout.MODEL, layout.REPORT)


@pytest.mark.parametrize("folder", ["new", "a/b/new", "there", "old"])
def test_a_staged_result_comes_into_place(tmp_path: Path, folder: str) -> None:
    (tmp_path / "there").mkdir()
    fill(tmp_path / "old", *WHOLE)
    with staged(tmp_path / folder) as stage:
        fill(stage, *WHOLE, content="new")
        assert stage.parent == tmp_path / folder
        assert stage.name.startswith(".")
    assert names_in(tmp_path / folder) == set(WHOLE)
    assert (tmp_path / folder / layout.RUN).read_text() == "new"
    assert (tmp_path / folder / layout.MODEL / "inside").read_text() == "new"


def test_files_beside_a_staged_result_stay(tmp_path: Path) -> None:
    fill(tmp_path, ".hidden", layout.CHECKPOINT)
    with staged(tmp_path) as stage:
        fill(stage, *WHOLE)
    assert names_in(tmp_path) == {".hidden", layout.CHECKPOINT, *WHOLE}


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_keeps_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    folder = fill(tmp_path / "old", *WHOLE)
    with pytest.raises(error), staged(folder) as stage:  # noqa: PT012
        fill(stage, *WHOLE, content="new")
        raise error
    assert names_in(folder) == set(WHOLE)
    assert (folder / layout.RUN).read_text() == "old"
    assert (folder / layout.MODEL / "inside").read_text() == "old"


@pytest.mark.parametrize("folder", ["new", "a/b/new"])
def test_a_failure_in_a_new_folder_leaves_nothing(tmp_path: Path, folder: str) -> None:
    with pytest.raises(RuntimeError), staged(tmp_path / folder) as stage:  # noqa: PT012
        fill(stage, *WHOLE)
        raise RuntimeError
    assert names_in(tmp_path) == set()


def test_a_failure_in_a_folder_that_was_empty_leaves_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staged(tmp_path):
        raise RuntimeError
    assert tmp_path.is_dir()
    assert names_in(tmp_path) == set()


def moves(monkeypatch: pytest.MonkeyPatch, seen: Callable[[str], None]) -> None:
    """Calls `seen` with the name of each file before it is moved."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        seen(Path(target).name)
        real(source, target)

    monkeypatch.setattr(staging.os, "replace", replace)


def test_run_json_is_taken_away_first_and_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill(tmp_path / "old", *WHOLE)
    order: list[tuple[str, bool]] = []
    moves(monkeypatch, lambda name: order.append((name, (folder / layout.RUN).exists())))
    with staged(folder) as stage:
        fill(stage, *WHOLE)
    assert [name for name, _ in order][-1] == layout.RUN
    assert sorted(name for name, _ in order) == sorted(WHOLE)
    assert not any(finished for _, finished in order)


def test_a_failure_while_moving_leaves_a_run_that_is_seen_to_be_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_the_end(name: str) -> None:
        if name == layout.RUN:
            raise OSError("the disk is full")

    moves(monkeypatch, fail_at_the_end)
    folder = fill(tmp_path / "old", *WHOLE)
    with pytest.raises(OSError, match="full"), staged(folder) as stage:
        fill(stage, *WHOLE)
    assert not any(name.startswith(".") for name in names_in(folder))
    with pytest.raises(InputError, match="is not a finished run"):
        read_run(folder)


def assignments(text: str) -> dict[str, list[Any]]:
    return {"row": [0], "text": [text], "label": ["a"]}


def test_a_new_result_does_not_leave_the_old_table_beside_its_own(tmp_path: Path) -> None:
    """A run from a Parquet file is replaced by one from a CSV file: the old assignments must not be read any more."""
    for name, content in (("parquet", parquet_bytes(assignments("old"))), ("csv", csv_text(assignments("new")))):
        with staged(tmp_path / "run") as stage:
            path = stage / f"{layout.ASSIGNMENTS}.{name}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            fill(stage, layout.RUN)
    assert read_assignments(tmp_path / "run")["text"] == ["new"]


def test_read_run_gives_the_facts(tmp_path: Path) -> None:
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
def test_read_run_says_why_there_is_none(tmp_path: Path, files: dict[str, str], sentence: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_run(tmp_path)
    assert sentence in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_read_run_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "file"):
        with pytest.raises(InputError, match=f"there is no folder .*{name}.*: give the folder that discover wrote"):
            read_run(tmp_path / name)


def test_read_json_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is missing: the run folder is not complete"):
        read_json(tmp_path / "x.json")


def test_taxonomy_reads_back(tmp_path: Path) -> None:
    taxonomy = Taxonomy((Category(0, "a", "b\r\n=1", ("k",), ("half \ud800", "e"), 3),))
    (tmp_path / layout.TAXONOMY).write_text(json_text(taxonomy.to_dict()))
    assert read_taxonomy(tmp_path) == taxonomy


@pytest.mark.parametrize("content", ["{}x", "[1]", '[{"id": 0}]', '{"a": 1}', "null", '[{"id": "x"}]'])
def test_a_damaged_taxonomy_is_one_sentence(tmp_path: Path, content: str) -> None:
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
def test_damaged_assignments_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    """Loading a run whose table was edited or cut off is a user's error, not a traceback."""
    from subtaxa.discovery import Discovery

    monkeypatch.setattr(load, "check_folder", lambda folder: None)  # no encoder is needed to get so far
    folder = write_run(tmp_path / "run")
    assert len(Discovery.load(folder).taxonomy_) == 3
    (folder / "assignments.csv").unlink()
    (folder / name).write_bytes(content)
    with pytest.raises(SubtaxaError, match=r"assignments.* damaged"):
        Discovery.load(folder)
    with pytest.raises(SubtaxaError, match=r"assignments.* damaged"):
        read_assignments(folder, OUTLIER_COLUMNS)
