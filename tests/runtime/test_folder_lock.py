"""Real processes and one folder: the second process is refused, and a lock ends with its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runtime.folder_lock import LOCK, exclusive, try_exclusive

HOLD = """
import sys, time
from pathlib import Path
from subtaxa.runtime.folder_lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(600)
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of a folder until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_second_process_is_refused_and_a_killed_owner_leaves_no_lock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    source = tmp_path / "texts.csv"
    source.write_text("text,label\na,x\nb,y\n")
    with holder(out) as process:
        for more in ([], ["--resume"], ["--overwrite"]):
            error = refused(capsys, ["discover", str(source), "--out", str(out), *more])
            assert "another process is at work on" in error
            assert "name another folder" in error
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (out / LOCK).exists()
        with exclusive(out):
            pass
    assert not (out / LOCK).exists()


@pytest.fixture(scope="module")
def run(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts, labels, _ = planted_corpus(5)
    return Discovery(6, **{**quick, "epochs": 1}).fit(texts, labels).save(tmp_path_factory.mktemp("locked") / "run")


@pytest.mark.parametrize("command", [["merge", "0", "1"], ["undo"], ["update", "more.csv"]])
def test_edits_and_updates_are_refused_too(run: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    with holder(run):
        error = refused(capsys, [command[0], str(run), *command[1:]])
    assert "another process is at work on" in error


def test_the_owner_may_lock_again_and_the_outer_block_releases_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with exclusive(folder):
        with exclusive(folder):
            pass
        assert (folder / LOCK).exists()
        second = subprocess.run([sys.executable, "-c", HOLD, str(folder)], capture_output=True, text=True)
        assert "another process is at work" in second.stderr
    assert list(tmp_path.iterdir()) == []


def test_files_in_the_folder_are_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), exclusive(tmp_path / "run"):  # noqa: PT012
        (tmp_path / "run" / "result").write_text("")
        raise KeyboardInterrupt
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["result"]


def test_a_file_cannot_be_locked_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"), exclusive(tmp_path / "file"):
        pass


def test_try_exclusive_says_whether_the_folder_was_free(tmp_path: Path) -> None:
    with holder(tmp_path), try_exclusive(tmp_path) as locked:
        assert not locked
    with try_exclusive(tmp_path) as locked:
        assert locked
        second = subprocess.run([sys.executable, "-c", HOLD, str(tmp_path)], capture_output=True, text=True)
        assert "another process is at work" in second.stderr
    assert not (tmp_path / LOCK).exists()


def test_waiting_ends_with_an_error(tmp_path: Path) -> None:
    with holder(tmp_path), pytest.raises(SubtaxaError, match="another process"), exclusive(tmp_path, wait=0.1):
        pass


COUNT = """
import sys
from pathlib import Path
from subtaxa.runtime.folder_lock import exclusive
file = Path(sys.argv[2])
for _ in range(40):
    with exclusive(Path(sys.argv[1]), wait=60.0):
        file.write_text(str(int(file.read_text()) + 1))
"""


def test_waiting_processes_take_turns(tmp_path: Path) -> None:
    """Each owner removes the lock file. That must not let two waiting processes in at once."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "run"), str(counter)]
    waiting = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in waiting] == [0, 0, 0]
    assert counter.read_text() == "120"
