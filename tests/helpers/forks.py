"""Real processes that start at once: forks of a process that has already imported the libraries.

A new interpreter spends ten seconds of processor time on imports, which is most of a test. A fork has its own process
id, memory, environment and signals, so it can be killed or limited like any other process. Tests of what is imported
start an interpreter of their own.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
from kill import LIBRARIES

CONTEXT = get_context("forkserver")  # A test session has one server of forks, which `soak/kill.py` uses as well.
CONTEXT.set_forkserver_preload([*LIBRARIES, "subtaxa.bench.running", "subtaxa.training.trainer"])


def command(*arguments: str) -> None:
    """Run `subtaxa` with these arguments, as `python -m subtaxa` does."""
    from subtaxa.cli.main import main

    sys.argv[1:] = arguments
    sys.exit(main())


def command_without_streams(closed: str, *arguments: str) -> None:
    """Run `subtaxa` with closed streams ("1", "2" or "12"), in whose place an interpreter has None from its start."""
    for number in map(int, closed):
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    command(*arguments)


def fresh_command(*arguments: str) -> None:
    """Run `subtaxa` as `command` does, but import subtaxa again, so that it reads the environment."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "subtaxa"]:
        del sys.modules[name]
    command(*arguments)


def python(code: str, *arguments: str) -> None:
    """Run the code, as `python -c` does."""
    sys.argv[:] = ["-c", *arguments]
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})  # noqa: S102 - code of the tests


class Fork:
    """A running process, with the interface of `subprocess.Popen` as far as tests need it."""

    def __init__(
        self,
        work: Callable[..., object],
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        file_size: int | None = None,
    ) -> None:
        """Start `work(*arguments)`. With `file_size`, the kernel refuses to write files of more bytes than that."""
        pipes = [CONTEXT.Pipe(duplex=False) for _ in range(2)]
        writers = tuple(writer for _, writer in pipes)
        given = (work, arguments, dict(env or os.environ), str(cwd or Path.cwd()), file_size, *writers)
        self.process = CONTEXT.Process(target=_begin, args=given)
        self.process.start()
        self.written: list[bytes] = [b"", b""]
        for writer in writers:
            writer.close()
        self.readers = [threading.Thread(target=self._read, args=(i, pipe[0])) for i, pipe in enumerate(pipes)]
        for reader in self.readers:
            reader.start()

    def _read(self, number: int, pipe: Connection) -> None:
        with pipe:
            while part := os.read(pipe.fileno(), 65536):
                self.written[number] += part

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def first_line(self) -> str:
        """Wait for the first line on standard output."""
        while b"\n" not in self.written[0]:
            assert self.poll() is None, (self.returncode, self.communicate())
            time.sleep(0.02)
        return self.written[0].decode().partition("\n")[0]

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        """Wait for the end of the process. Returns what it wrote to standard output and standard error."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutError(f"process {self.process.pid} did not end within {timeout:.0f} s")
        for reader in self.readers:
            reader.join(timeout)
        out, error = (written.decode() for written in self.written)
        return out, error


class Job:
    """A fork in place of the process of `subtaxa` that the app starts with `subprocess.Popen`."""

    def __init__(self, command: list[str], *, env: Mapping[str, str], **_: object) -> None:
        assert command[:4] == [sys.executable, "-P", "-m", "subtaxa"]
        self.fork = Fork(globals()["command"], *command[4:], env=env)
        self.poll, self.send_signal = self.fork.poll, self.fork.send_signal

    @property
    def stderr(self) -> Iterator[str]:
        """The lines of standard error as they are written."""
        seen, ended = 0, False
        while not ended:
            ended = not self.fork.readers[1].is_alive()
            lines = self.fork.written[1].decode().splitlines(keepends=True)
            whole = len(lines) if ended or not lines or lines[-1].endswith("\n") else len(lines) - 1
            yield from lines[seen:whole]
            seen = whole
            time.sleep(0.05)

    def wait(self, timeout: float = 600.0) -> int:
        try:
            self.fork.communicate(timeout)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired("subtaxa", timeout) from error
        return self.fork.returncode or 0

    def kill(self) -> None:
        self.fork.send_signal(signal.SIGKILL)


def run(*arguments: str, work: Callable[..., object] = command, **where: Any) -> subprocess.CompletedProcess[str]:
    """Run `subtaxa` or other work to its end in a fork. `where` are options of `Fork`."""
    fork = Fork(work, *arguments, **where)
    out, error = fork.communicate()
    return subprocess.CompletedProcess(arguments, fork.returncode or 0, out, error)


def _begin(
    work: Callable[..., object],
    arguments: tuple[str, ...],
    env: dict[str, str],
    cwd: str,
    file_size: int | None,
    out: Connection,
    error: Connection,
) -> None:
    """The first steps of the fork."""
    os.dup2(out.fileno(), 1)
    os.dup2(error.fileno(), 2)
    out.close()
    error.close()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    work(*arguments)
