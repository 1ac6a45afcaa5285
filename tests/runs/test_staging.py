"""Writing a run folder: the result is complete, or the folder stays as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.run_files import fill, names_in

from subtaxa.data.tables import csv_text, parquet_bytes
from subtaxa.errors import InputError
from subtaxa.runs import layout, staging
from subtaxa.runs.manifest import first_foreign
from subtaxa.runs.reading import read_assignments, read_run
from subtaxa.runs.staging import recover, remove_leftovers, replace_files, staged

WHOLE = (layout.RUN, layout.TAXONOMY, layout.MODEL, layout.REPORT)


@pytest.mark.parametrize("folder", ["new", "a/b/new", "there", "old"])
def test_a_staged_result_is_moved_into_place(tmp_path: Path, folder: str) -> None:
    (tmp_path / "there").mkdir()
    fill(tmp_path / "old", *WHOLE)
    with staged(tmp_path / folder) as stage:
        fill(stage, *WHOLE, content="new")
        assert stage.parent.parent == tmp_path / folder
        assert stage.parent.name.startswith(".")
    assert names_in(tmp_path / folder) == {*WHOLE, layout.MANIFEST}
    assert (tmp_path / folder / layout.RUN).read_text() == "new"
    assert (tmp_path / folder / layout.MODEL / "inside").read_text() == "new"


def test_other_files_stay(tmp_path: Path) -> None:
    fill(tmp_path, ".hidden", layout.CHECKPOINT)
    with staged(tmp_path) as stage:
        fill(stage, *WHOLE)
    assert names_in(tmp_path) == {".hidden", layout.CHECKPOINT, layout.MANIFEST, *WHOLE}


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


def names_and_contents(folder: Path) -> dict[str, str]:
    """All files of a run and their content, but for the manifest."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != layout.MANIFEST)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def killed_at(number: int, write: Callable[[], None]) -> bool:
    """Run a function in a process that dies at its n-th rename or removal. Returns whether it got that far."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = [number]

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*given, **named)

        return call

    for name in ("rename", "replace", "unlink", "rmdir", "mkdir"):
        setattr(os, name, deadly(getattr(os, name)))
    write()
    os._exit(0)


def write_new(folder: Path) -> None:
    with staged(folder) as stage:
        fill(stage, *WHOLE, content="new")
        (stage / layout.MODEL / "more").write_text("new")


def write_some(folder: Path) -> None:
    replace_files(folder, {layout.TAXONOMY: b"new", layout.EDITS: b"new", "model/inside": b"new", "model/more": b"new"})


@pytest.mark.parametrize("write", [write_new, write_some])
def test_a_process_killed_at_any_rename_or_removal_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    def old_run(folder: Path) -> Path:
        with staged(folder) as stage:
            fill(stage, *WHOLE, "suspect_labels.csv")
        return folder

    old = names_and_contents(old_run(tmp_path / "old"))
    write(old_run(tmp_path / "new"))
    new = names_and_contents(tmp_path / "new")
    assert old != new
    seen = []
    for number in range(200):
        folder = old_run(tmp_path / f"run-{number}")
        got_there = killed_at(number, lambda folder=folder: write(folder))  # type: ignore[misc]
        recover(folder)
        remove_leftovers(folder)
        found = names_and_contents(folder)
        assert found in (old, new)
        assert first_foreign(folder) is None
        assert not [path for path in folder.iterdir() if path.name.startswith(".") and path.name != ".lock"]
        seen.append(found == new)
        if not got_there:
            break
    assert seen == sorted(seen)  # The old state, and from one moment on the new one.
    assert {True, False} == set(seen)
    assert len(seen) > 8


def test_a_failure_while_moving_is_repaired_when_the_run_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real = tmp_path / "run", os.replace
    with staged(folder) as stage:
        fill(stage, *WHOLE)

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == layout.RUN:
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(staging.os, "replace", fail)
        with pytest.raises(KeyboardInterrupt):
            write_new(folder)
    assert (folder / layout.RUN).read_text() == "old"
    with pytest.raises(InputError, match="damaged"):  # It is not JSON, but it is the new one.
        read_run(folder)
    assert (folder / layout.RUN).read_text() == "new"
    assert not (folder / staging.COMMIT).exists()


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        ({"remove": {"../../precious": "0"}}, "x"),
        ({"remove": {"/precious": "0"}}, "x"),
        ({"remove": {"checkpoint/x": "0"}}, "x"),
        ({"remove": [1]}, "x"),
        ({"remove": {}}, ".bashrc"),
        ({"remove": {}}, "notes.txt"),
    ],
)
def test_a_commit_made_by_a_stranger_changes_nothing_outside(tmp_path: Path, plan: Any, name: str) -> None:
    folder = fill(tmp_path / "run", layout.RUN)
    (folder / ".commit" / "new").mkdir(parents=True)
    (folder / ".commit" / "plan.json").write_text(json.dumps(plan))
    (folder / ".commit" / "new" / name).write_text("evil")
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(InputError, match=r"damaged|is not a file of a run"):
        read_run(folder)
    assert (tmp_path / "precious").read_text() == "mine"
    assert names_in(folder) == {layout.RUN, ".commit"}


@pytest.mark.parametrize("name", ["new", "plan.json", "new/model"])
def test_a_commit_with_links_moves_nothing_from_elsewhere(tmp_path: Path, name: str) -> None:
    folder, outside = fill(tmp_path / "run", layout.RUN), fill(tmp_path / "outside", layout.TAXONOMY)
    (folder / ".commit" / name).parent.mkdir(parents=True)
    (folder / ".commit" / "plan.json").write_text('{"remove": {}}')
    (folder / ".commit" / name).unlink(missing_ok=True)
    (folder / ".commit" / name).symlink_to(outside)
    with pytest.raises(InputError, match=r"is a link|is not a file of a run"):
        read_run(folder)
    assert names_and_contents(outside) == {layout.TAXONOMY: "old"}
    assert names_in(folder) == {layout.RUN, ".commit"}


@pytest.mark.parametrize("name", [".commit", ".commit/new", ".commit/plan.json"])
def test_a_commit_with_pipes_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = fill(tmp_path / "run", layout.RUN)
    (folder / name).parent.mkdir(exist_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="is not what subtaxa wrote"):
        read_run(folder)


def test_a_link_is_not_followed_when_writing(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", "inside")
    for name in (layout.MODEL, layout.TAXONOMY, ".commit"):
        folder = tmp_path / f"run-{name}"
        folder.mkdir()
        (folder / name).symlink_to(outside if name != layout.TAXONOMY else outside / "inside")
        with pytest.raises(InputError, match="is a link"):
            write_some(folder)
        assert names_and_contents(outside) == {"inside": "old"}


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
