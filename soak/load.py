"""Use one run from many processes at once, and make 10,000 edits in one log.

    python soak/load.py

1. Ten `assign` at once must write the same file.
2. `rename`, `update` and `recut` start at the same moment, several times. Each must succeed, or say in one sentence
   that another command uses the run, and the run must be whole afterwards.
3. 10,000 edits in one session, renames and moves by turns. The program prints how long an edit takes with a short and
   with a long log, how long a command takes that opens such a run, and the size of the log.

The program prints Markdown. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from kill_writes import Commands, answering, forked, run, snapshot  # noqa: E402

# What a command says if another one uses the run.
IN_USE = "another process is at work on"


def at_once(works: Sequence[Callable[[], None]]) -> list[int]:
    """Do several things at the same moment in forks. Returns their exit codes."""
    children = []
    read, write = os.pipe()
    for work in works:
        child = os.fork()
        if not child:
            os.close(write)
            os.read(read, 1)  # It ends when the parent closes its end.
            try:
                work()
                os._exit(0)
            except SystemExit as error:
                os._exit(int(error.code or 0))
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                os._exit(99)
        children.append(child)
    os.close(read)
    os.close(write)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def command(arguments: list[str]) -> Callable[[], None]:
    """A command that exits with 0, with 2 if another process uses the run, and with 98 if anything else is wrong."""

    def work() -> None:
        from subtaxa.cli.main import main

        out, error = io.StringIO(), io.StringIO()
        with answering(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = main(arguments)
        said = error.getvalue()
        if code and not (code == 2 and IN_USE in said and said.count("\n") == 1):
            print(f"{arguments[0]}: {code} {said}", file=sys.stderr)
            code = 98
        sys.exit(code)

    return work


def ten_assigns(commands: Commands) -> str:
    """Assign the same texts ten times at once."""
    outs = [commands.folder / f"assigned-{i}.csv" for i in range(10)]
    works = [command(["assign", str(commands.base), str(commands.more), "--out", str(o), "--quiet"]) for o in outs]
    codes = at_once(works)
    same = len({out.read_bytes() for out in outs if out.exists()}) == 1
    if any(codes) or not same:
        raise RuntimeError(f"exit codes {codes}, the same files: {same}")
    return "ten `assign` at once: 10 of 10 succeeded and wrote the same file"


def three_writers(commands: Commands, rounds: int) -> str:
    """`rename`, `update` and `recut` at once. The run is whole after each round."""
    folder, codes = commands.folder / "shared", Counter[int]()
    for number in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(commands.base, folder)
        some = [["rename", str(folder), "1", f"Name {number}", "--quiet"]]
        some += [commands.all()[name](folder) for name in ("update", "recut")]
        codes.update(at_once([command(arguments) for arguments in some]))
        code, why = forked(lambda: snapshot(folder) and None)
        if code:
            raise RuntimeError(f"round {number}: {why}")
    if set(codes) - {0, 2} or not codes[0] >= rounds:
        raise RuntimeError(f"exit codes {dict(codes)}")
    return (
        f"`rename`, `update` and `recut` at once, {rounds} times: {codes[0]} succeeded, {codes[2]} were told that the "
        "run is in use, and the run was whole each time"
    )


def many_edits(commands: Commands, number: int) -> str:
    """Seconds of an edit with a short and with a long log, and of a command that opens the run."""
    from subtaxa.runs.edit_session import EditSession
    from subtaxa.taxonomy import edits

    folder = commands.folder / "edited"
    shutil.copytree(commands.base, folder)
    opened = [_seconds(lambda: run(["rename", str(folder), "0", "First", "--quiet"]))]
    session = EditSession(folder)
    first, other = commands.siblings()[:2]
    rows = session.working.rows[session.working.members(first)].tolist()
    begun, taken = time.perf_counter(), []
    for i in range(number):
        if i % 2:
            edit = edits.rename(session.working, first, f"name {i}")
        else:
            edit = edits.move(session.working, [rows[0]], (other, first)[i // 2 % 2])
        taken.append(_seconds(lambda edit=edit: session.add(edit)))
    total = time.perf_counter() - begun
    finished = _seconds(session.finish)
    opened.append(_seconds(lambda: run(["rename", str(folder), "0", "Last", "--quiet"])))
    snapshot(folder)
    tenth, size = max(1, number // 10), (folder / "edits.jsonl").stat().st_size
    return (
        f"{number:,} edits in one session: {total:.0f} s; {1000 * sum(taken[:tenth]) / tenth:.1f} ms each in the first "
        f"tenth, {1000 * sum(taken[-tenth:]) / tenth:.1f} ms in the last; writing the tables at the end "
        f"{finished:.1f} s; `rename` {opened[0]:.2f} s before and {opened[1]:.2f} s after; the log has "
        f"{size / 1e6:.2f} MB"
    )


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, default=20, help="rounds of three writers (default: 20)")
    options.add_argument("--edits", type=int, default=10_000, help="number of edits (default: 10000)")
    given = options.parse_args()
    from helpers.tiny_encoder import make_tiny_encoder

    with tempfile.TemporaryDirectory(prefix="subtaxa-load-") as name:
        (Path(name) / "tiny").mkdir()
        commands = Commands(Path(name), make_tiny_encoder(Path(name) / "tiny"))
        gc.freeze()
        for line in (
            lambda: ten_assigns(commands),
            lambda: three_writers(commands, given.rounds),
            lambda: many_edits(commands, given.edits),
        ):
            print(f"- {line()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
