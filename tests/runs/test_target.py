"""The folder of a new run: foreign files and existing runs are not overwritten by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.run_files import fill, names_in

from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runs.target import check_target, clear, clear_checkpoint


def test_a_new_or_empty_folder_is_accepted(tmp_path: Path) -> None:
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


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"):
        check_target(tmp_path / "file", overwrite=True, resume=True)


def test_clear_removes_the_files_of_a_run_and_nothing_else(tmp_path: Path) -> None:
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
