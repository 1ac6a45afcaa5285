"""The folder of a new run: foreign files and existing runs are not overwritten by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.run_files import fill, names_in, write_run

from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runs.staging import staged
from subtaxa.runs.target import check_checkpoint, check_target, clear_checkpoint, remove_temporary


def test_a_new_or_empty_folder_is_accepted(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("")
    for folder in (tmp_path, tmp_path / "new", tmp_path / "a" / "b"):
        check_target(folder, overwrite=False, resume=False)
    assert names_in(tmp_path) == {".hidden"}


def saved(folder: Path, *names: str) -> Path:
    """A run that subtaxa wrote."""
    with staged(folder) as stage:
        fill(stage, *names)
    return folder


def started(folder: Path) -> Path:
    """A checkpoint that subtaxa wrote."""
    (folder / layout.CHECKPOINT).mkdir(parents=True)
    (folder / layout.CHECKPOINT / layout.IDENTITY).write_text("{}")
    (folder / layout.CHECKPOINT / "training.safetensors").write_text("")
    return folder


# What a user may have in a folder, although subtaxa has a file of that name, too.
MINE = ("thesis.doc", "categories.csv", "model/mine.txt", "checkpoint/mine.txt", "model.safetensors", "edits.jsonl")


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("run", [False, True])
def test_a_folder_with_foreign_files_is_always_refused(
    tmp_path: Path, name: str, overwrite: bool, resume: bool, run: bool
) -> None:
    folder = saved(tmp_path / "run", layout.RUN, layout.MODEL) if run else tmp_path / "run"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    with pytest.raises(InputError, match=rf"is not subtaxa's, or was changed since \('{name}'\): name a new folder"):
        check_target(folder, overwrite=overwrite, resume=resume)
    clear_checkpoint(folder)
    assert (folder / name).read_text() == "mine"


def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path: Path) -> None:
    folder = saved(tmp_path / "run", layout.RUN, layout.CATEGORIES)
    check_target(folder, overwrite=True, resume=False)
    (folder / layout.CATEGORIES).write_text("with my notes")
    with pytest.raises(InputError, match=r"categories\.csv"):
        check_target(folder, overwrite=True, resume=False)
    check_target(folder, overwrite=True, resume=False, changed=False)  # An update of the run itself.


def test_only_files_that_are_still_ours_are_removed(tmp_path: Path) -> None:
    folder = saved(tmp_path / "run", layout.RUN, layout.CATEGORIES, layout.REPORT, layout.MODEL)
    (folder / layout.CATEGORIES).write_text("with my notes")
    (folder / layout.MODEL / "mine").write_text("mine")
    saved(folder, layout.RUN)
    assert names_in(folder) == {layout.RUN, layout.MANIFEST, layout.CATEGORIES, layout.MODEL}
    assert names_in(folder / layout.MODEL) == {"mine"}


def test_a_run_of_an_earlier_version_is_known_by_its_names(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    check_target(folder, overwrite=True, resume=False)
    (folder / "thesis.doc").write_text("mine")
    with pytest.raises(InputError, match="thesis"):
        check_target(folder, overwrite=True, resume=False)


def test_a_run_is_refused_unless_it_may_be_replaced_or_resumed(tmp_path: Path) -> None:
    folder = started(saved(tmp_path / "run", layout.RUN, layout.MODEL, layout.REPORT))
    check_target(folder, overwrite=True, resume=False)
    check_target(folder, overwrite=False, resume=True)
    with pytest.raises(InputError, match=r"already holds a run: .*--overwrite or --resume"):
        check_target(folder, overwrite=False, resume=False)


def test_a_checkpoint_that_is_a_link_is_neither_written_nor_deleted(tmp_path: Path) -> None:
    outside = started(tmp_path / "outside") / layout.CHECKPOINT
    folder = saved(tmp_path / "run", layout.RUN)
    (folder / layout.CHECKPOINT).symlink_to(outside)
    before = names_in(outside)
    with pytest.raises(InputError, match="'checkpoint'"):
        check_target(folder, overwrite=True, resume=True)
    with pytest.raises(InputError, match="checkpoint' is not a file of a checkpoint"):
        check_checkpoint(folder / layout.CHECKPOINT)
    clear_checkpoint(folder)
    assert names_in(outside) == before


def test_only_temporary_files_of_ours_are_removed_from_a_checkpoint(tmp_path: Path) -> None:
    folder = started(tmp_path / "run") / layout.CHECKPOINT
    for name in (".bashrc", ".identity.json-abcdefgh", ".new-training.safetensors-a_b8defg", ".identity.json-mine.txt"):
        (folder / name).write_text("")
    remove_temporary(folder)
    assert names_in(folder) == {layout.IDENTITY, "training.safetensors", ".bashrc", ".identity.json-mine.txt"}


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"):
        check_target(tmp_path / "file", overwrite=True, resume=True)


def test_clear_checkpoint_removes_an_otherwise_empty_folder(tmp_path: Path) -> None:
    clear_checkpoint(started(tmp_path / "a"))
    clear_checkpoint(started(fill(tmp_path / "b", layout.RUN)))
    clear_checkpoint(tmp_path / "never there")
    assert names_in(tmp_path) == {"b"}
    assert names_in(tmp_path / "b") == {layout.RUN}
