"""Use one run from many processes at once, and a run with 10,000 edits in its log.

    python soak/load.py

1. Ten `assign` at once must write the same file.
2. `rename`, `update`, `recut` and a session of the app start at the same moment, several times. Each command must
   succeed, or say in one sentence that another command uses the run. Each edit in the app must be in the log, or be
   refused because the run was changed elsewhere. The run must be whole afterwards.
3. A log of 10,000 edits, renames and moves by turns. The program prints how long it takes to open such a run, to make
   one more edit and to write the tables, compared with a log of 10 edits, and the size of the log.

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
from commands import Commands, answering, forked  # noqa: E402
from kill_writes import snapshot  # noqa: E402

# What a command says if another one uses the run.
IN_USE = "another process is at work on"
# Edits of a session of the app.
APP_EDITS = 5


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


def app_session(folder: Path) -> Callable[[], None]:
    """Renames in the app, which goes on when the run is changed elsewhere. The exit code is the number of kept ones."""

    def work() -> None:
        from subtaxa.app.workbench import Workbench
        from subtaxa.errors import SubtaxaError

        bench, kept = Workbench(folder), 0
        for number in range(APP_EDITS):
            category = min(c.id for c in bench.current().taxonomy)
            correction = {"do": "rename", "category": category, "name": f"In the app {number}"}
            with contextlib.suppress(SubtaxaError):
                bench.correct(len(bench.session.log), correction)
                kept += 1
        bench.close()
        sys.exit(kept)

    return work


def writers_at_once(commands: Commands, rounds: int) -> str:
    """`rename`, `update`, `recut` and a session of the app at once. The run is whole after each round."""
    folder, codes, kept = commands.folder / "shared", Counter[int](), []
    for number in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(commands.base, folder)
        some = [["rename", str(folder), "1", f"Name {number}", "--quiet"]]
        some += [commands.all()[name](folder) for name in ("update", "recut")]
        *found, in_app = at_once([*map(command, some), app_session(folder)])
        codes.update(found)
        kept.append(in_app)
        code, why = forked(lambda: snapshot(folder) and None)
        if code:
            raise RuntimeError(f"round {number}: {why}")
    if set(codes) - {0, 2} or not codes[0] or max(kept) > APP_EDITS or not any(kept):
        raise RuntimeError(f"exit codes {dict(codes)}, edits in the app: {kept}")
    return (
        f"`rename`, `update`, `recut` and {APP_EDITS} edits in the app at once, {rounds} times: {codes[0]} commands "
        f"succeeded, {codes[2]} were told that the run is in use, {sum(kept)} edits in the app were kept, the others "
        "were refused, and the run was whole each time"
    )


def many_edits(commands: Commands, number: int) -> str:
    """What a run with a long log costs: opening it, one more edit, and writing the tables."""
    from subtaxa.runs.edit_session import EditSession
    from subtaxa.taxonomy import edits

    short, long = (_with_edits(commands, n) for n in (10, number))
    seconds: dict[str, list[float]] = {"open": [], "edit": [], "write": []}
    for folder in (short, long):
        begun = time.process_time()
        session = EditSession(folder)
        seconds["open"].append(time.process_time() - begun)
        category, begun = commands.siblings()[0], time.process_time()
        for i in range(10):
            session.add(edits.rename(session.working, category, f"again {i}"))
        seconds["edit"].append((time.process_time() - begun) / 10)
        begun = time.process_time()
        session.finish()
        seconds["write"].append(time.process_time() - begun)
        snapshot(folder)
    told = ", ".join(f"{name} {before:.3f} and {after:.3f}" for name, (before, after) in seconds.items())
    size = (long / "edits.jsonl").stat().st_size / 1e6
    return f"logs of 10 and of {number:,} edits, seconds of processor time: {told}; the long log has {size:.2f} MB"


def _with_edits(commands: Commands, number: int) -> Path:
    """A copy of the run with renames and moves by turns in its log."""
    from subtaxa.runs.load import load_run
    from subtaxa.taxonomy.edit_log import Edit, log_entry, write_log

    folder = Path(shutil.copytree(commands.base, commands.folder / f"{number} edits"))
    state = load_run(folder)
    first, other = commands.siblings()[:2]
    row = state.data.rows[state.labels.tolist().index(first)]
    log = list(state.edits)
    for i in range(number):
        edit: Edit = {"do": "move", "rows": [row], "to": (other, first)[i // 2 % 2], "says": "move 1 text"}
        if i % 2:
            edit = {"do": "rename", "category": first, "name": f"name {i}", "says": f"rename to 'name {i}'"}
        log.append(log_entry(edit, log))
    (folder / "edits.jsonl").write_text(write_log(log))
    return folder


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, default=20, help="rounds of writers (default: 20)")
    options.add_argument("--edits", type=int, default=10_000, help="number of edits (default: 10000)")
    given = options.parse_args()
    from helpers.tiny_encoder import make_tiny_encoder

    with tempfile.TemporaryDirectory(prefix="subtaxa-load-") as name:
        (Path(name) / "tiny").mkdir()
        commands = Commands(Path(name), make_tiny_encoder(Path(name) / "tiny"))
        gc.freeze()
        for line in (
            lambda: ten_assigns(commands),
            lambda: writers_at_once(commands, given.rounds),
            lambda: many_edits(commands, given.edits),
        ):
            print(f"- {line()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
