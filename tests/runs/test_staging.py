"""Writing a run folder: the result is complete, or the folder stays as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.run_files import fill, names_in

from subtaxa.data.tables import csv_text, parquet_bytes
from subtaxa.errors import InputError
from subtaxa.runs import layout, staging
from subtaxa.runs.reading import read_assignments, read_run
from subtaxa.runs.staging import staged

WHOLE = (layout.RUN, layout.TAXONOMY, layout.MODEL, layout.REPORT)


@pytest.mark.parametrize("folder", ["new", "a/b/new", "there", "old"])
def test_a_staged_result_is_moved_into_place(tmp_path: Path, folder: str) -> None:
    (tmp_path / "there").mkdir()
    fill(tmp_path / "old", *WHOLE)
    with staged(tmp_path / folder) as stage:
        fill(stage, *WHOLE, content="new")
        assert stage.parent == tmp_path / folder
        assert stage.name.startswith(".")
    assert names_in(tmp_path / folder) == set(WHOLE)
    assert (tmp_path / folder / layout.RUN).read_text() == "new"
    assert (tmp_path / folder / layout.MODEL / "inside").read_text() == "new"


def test_other_files_stay(tmp_path: Path) -> None:
    fill(tmp_path, ".hidden", layout.CHECKPOINT)
    with staged(tmp_path) as stage:
        fill(stage, *WHOLE)
    assert names_in(tmp_path) == {".hidden", layout.CHECKPOINT, *WHOLE}


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_keeps_the_old_run(tmp_path: Path, error: type[BaseException]) -> None:
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


def test_a_failure_in_an_empty_folder_keeps_the_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staged(tmp_path):
        raise RuntimeError
    assert tmp_path.is_dir()
    assert names_in(tmp_path) == set()


def moves(monkeypatch: pytest.MonkeyPatch, seen: Callable[[str], None]) -> None:
    """Call `seen` with the name of each file before it is moved."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        seen(Path(target).name)
        real(source, target)

    monkeypatch.setattr(staging.os, "replace", replace)


def test_run_json_is_removed_first_and_moved_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill(tmp_path / "old", *WHOLE)
    order: list[tuple[str, bool]] = []
    moves(monkeypatch, lambda name: order.append((name, (folder / layout.RUN).exists())))
    with staged(folder) as stage:
        fill(stage, *WHOLE)
    assert [name for name, _ in order][-1] == layout.RUN
    assert sorted(name for name, _ in order) == sorted(WHOLE)
    assert not any(finished for _, finished in order)


def test_after_a_failure_while_moving_the_run_counts_as_unfinished(
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


def test_a_new_result_replaces_a_table_in_another_format(tmp_path: Path) -> None:
    """If a run from a CSV file replaces one from a Parquet file, the old assignments must not be read."""
    for name, content in (("parquet", parquet_bytes(assignments("old"))), ("csv", csv_text(assignments("new")))):
        with staged(tmp_path / "run") as stage:
            path = stage / f"{layout.ASSIGNMENTS}.{name}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            fill(stage, layout.RUN)
    assert read_assignments(tmp_path / "run")["text"] == ["new"]
