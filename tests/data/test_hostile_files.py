"""Hostile files: each is read as `hostile.FILES` says, or refused in one sentence. None causes a crash."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import fuzz_targets, hostile
from helpers.input_files import pairs

from subtaxa.data import raw_files
from subtaxa.data.readers import iter_tables
from subtaxa.data.texts import read_texts
from subtaxa.errors import InputError


def test_there_are_at_least_sixty_hostile_files() -> None:
    assert len(hostile.FILES) >= 60


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide the limits by sixteen, so that a gigabyte is refused sooner."""
    for limit in ("MAX_FIELD", "MAX_EXPANDED"):
        monkeypatch.setattr(raw_files, limit, getattr(raw_files, limit) // 16)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("name", hostile.FILES)
def test_hostile_file(tmp_path: Path, name: str) -> None:
    path, expected = hostile.write(tmp_path, name), hostile.FILES[name][2]
    if isinstance(expected, list):
        assert list(pairs(read_texts(path))) == expected
        return
    with pytest.raises(InputError) as caught:
        read_texts(path)
    assert expected in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("name", [name for name in hostile.FILES if "gigabyte" in name or "bomb" in name])
def test_hostile_files_in_chunks(tmp_path: Path, name: str) -> None:
    """The limits also apply to `assign`, which reads in chunks."""
    path = hostile.write(tmp_path, name)
    with pytest.raises(InputError):
        list(iter_tables(path, "text", chunk_rows=1000))


def test_a_value_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_files, "MAX_FIELD", 1000)
    path = tmp_path / "a.csv"
    path.write_text('text,label\nx,a\n"' + "long\n" * 300 + '",a\n')
    with pytest.raises(InputError, match=r"the row at line 3 of .*a\.csv has a value of more than 1,000 characters"):
        read_texts(path)
    path.write_text("text,label\n" + "x" * 1001 + ",a\n")
    with pytest.raises(InputError, match=r"line 2 of .*a\.csv has more than 1,000 characters; break it"):
        read_texts(path)
    path.write_text("text,label\n" + "x" * 900 + ",a\n")
    assert len(read_texts(path).texts[0]) == 900


@pytest.mark.parametrize("name", ["a line of a gigabyte", "nesting without end", "a name with a line break", "a pipe"])
def test_the_command_line_refuses_a_hostile_file_in_one_line(tmp_path: Path, name: str) -> None:
    """The process may allocate less than a gigabyte."""
    path = hostile.write(tmp_path, name)
    call = [sys.executable, "-m", "subtaxa", "discover", str(path), "--out", str(tmp_path / "out")]
    limited = ["bash", "-c", 'ulimit -v 800000; exec "$@"', "bash", *call]
    done = subprocess.run(limited, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("subtaxa: ")
    assert hostile.FILES[name][2] in last
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, fuzz_targets.Target]]:
    from subtaxa.runs import load

    monkeypatch.setattr(load, "check_folder", load.check_folder)  # Undo what the targets replace.
    yield fuzz_targets.TARGETS
    fuzz_targets.clean_up()


@pytest.mark.parametrize("name", fuzz_targets.TARGETS)
def test_the_fuzzer_starts_from_files_that_pass(targets: dict[str, fuzz_targets.Target], name: str) -> None:
    found = fuzz_targets.seeds(name)
    assert found
    for seed in found:
        targets[name](seed)


def test_files_that_the_fuzzer_found_no_longer_crash(targets: dict[str, fuzz_targets.Target]) -> None:
    for path in sorted(fuzz_targets.FINDINGS.glob("*")):
        targets[path.name.partition("-")[0]](path.read_bytes())
