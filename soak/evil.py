"""Change the files of a run folder as a stranger might, use the run, and report whatever reaches out of the folder.

    python soak/evil.py --mutations 5000

Each mutation (mutations.py) changes one key of one JSON file or of one line of the log of edits (a path, an address, a
huge or deeply nested value, another type, another number, or no value), one array (NaN, another shape or type, a cycle)
or the table of the other columns, or puts a link, a pipe, a folder or other bytes in the place of a file. The digests
are then computed again, as a stranger would. A command or the app then uses the run. It does so in a fork that reports
every file opened outside the folder, every socket, every child process and every question. The files that mutated
paths lead to must not have been read or changed. A command must succeed, or fail with one sentence. The program prints
a Markdown table. `make soak` runs it; `--first` and `--mutations` run a part.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from commands import Commands, answering, forked, run  # noqa: E402
from mutations import Stranger  # noqa: E402

COMMANDS = ("info", "assign", "update", "rename", "recut", "ask", "export", "compare", "open")
# Seconds that a command may take.
PATIENCE = 30
# What a command may open outside the folder, besides the libraries.
HARMLESS = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/usr/", "/lib/", "/etc/localtime", "/etc/mime.types")


class Evil:
    """A run, and files outside it that nothing may read."""

    def __init__(self, folder: Path, encoder: str) -> None:
        self.folder, self.commands = folder, Commands(folder, encoder)
        self.base, self.outside = self.commands.base, folder / "outside"
        self.outside.mkdir()
        for command in ("recut", "ask"):  # The log then has edits of all kinds whose numbers a stranger may change.
            run(self.commands.all()[command](self.base))
        row, category = self.commands.to_move()
        self.category = str(category)
        run(["move", str(self.base), str(row), "--to", self.category, "--quiet"])
        for name in ("config.json", "vocab.txt", "secret", "model.safetensors"):
            (self.outside / name).write_text('{"model_type": "bert"}')
        self.stranger = Stranger(self.base, self.outside)

    def trial(self, number: int, rng: random.Random) -> tuple[str, str, str]:
        """Mutate a run and use it. Returns the command, what was mutated, and what went wrong, if anything."""
        run = self.folder / "evil"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.base, run)
        what, command = self.stranger.mutate(run, rng), rng.choice(COMMANDS)
        _forge_digests(run)
        before = {path.name: path.read_bytes() for path in self.outside.iterdir()}
        for path in self.outside.iterdir():
            os.utime(path, (0, time.time()))
        report = self.folder / "report"
        report.write_text("")
        code, why = forked(lambda: self._use(run, command, report))
        wrong = [] if code == 0 else [f"exit code {code}: {why}"]
        wrong += sorted(set(report.read_text().splitlines()))[:3]
        wrong += [f"{path.name} was read" for path in self.outside.iterdir() if path.stat().st_atime]
        after = {path.name: path.read_bytes() if path.is_file() else b"" for path in self.outside.iterdir()}
        wrong += [f"{name} was made" for name in after.keys() - before.keys()]
        wrong += [f"{name} was changed or moved" for name, content in before.items() if after.get(name) != content]
        return command, what, "; ".join(wrong)

    def _use(self, run: Path, command: str, report: Path) -> None:
        """Run a command, or the app, with every way out watched."""
        from subtaxa.cli.main import main

        written = [str(self.folder / f"{dot}written") for dot in ("", ".")]
        allowed = (str(run), str(self.base), *written, str(self.commands.more), *HARMLESS, *_libraries())
        temporary = os.path.join(tempfile.gettempdir(), "subtaxa-model-")
        log = os.open(report, os.O_WRONLY | os.O_APPEND)

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            if event in ("subprocess.Popen", "os.exec", "os.system", "os.posix_spawn", "os.fork", "builtins.input"):
                os.write(log, f"{event} {arguments}"[:300].encode() + b"\n")
            elif event.startswith("socket.") and event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
                os.write(log, f"{event} {arguments[1:]}"[:300].encode() + b"\n")
            elif event == "open" and isinstance(arguments[0], (str, bytes)):
                path = os.path.abspath(os.fsdecode(arguments[0]))
                if not path.startswith((*allowed, temporary)):
                    os.write(log, f"opens {path}"[:300].encode() + b"\n")

        arguments = {
            "info": ["info", str(run)],
            "assign": [
                *("assign", str(run), str(self.commands.more), "--overwrite", "--quiet"),
                *("--out", str(self.folder / "written.csv")),
            ],
            "update": ["update", str(run), str(self.commands.more), "--quiet"],
            "rename": ["rename", str(run), self.category, "Mine", "--quiet"],
            "recut": ["recut", str(run), "--categories", "8", "--quiet"],
            "ask": ["ask", str(run), "--budget", "2", "--quiet"],
            "export": ["export", str(run), "--out", str(self.folder / "written.xlsx"), "--overwrite"],
            "compare": ["compare", str(self.base), str(run)],
            "open": [],
        }[command]
        os.chdir(run)  # Removing a folder opens its parts by their bare names.
        signal.alarm(PATIENCE)  # Nothing may wait for ever, as for a pipe.
        sys.addaudithook(watch)
        out, error = io.StringIO(), io.StringIO()
        with answering(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = main(arguments) if arguments else _open(run, int(self.category))
        if code not in (0, 2) or (code == 2 and error.getvalue().count("\n") != 1):
            raise RuntimeError(f"{code}: {error.getvalue()[:300]}")


def _open(run: Path, category: int) -> int:
    """What the app does with a run: show it, ask a question, make an edit and write the tables."""
    from subtaxa.app.cards import Cards
    from subtaxa.app.endpoints import as_json
    from subtaxa.app.workbench import Workbench
    from subtaxa.errors import SubtaxaError

    try:
        bench = Workbench(run)
        bench.page().encode()
        as_json(bench.view())
        as_json(Cards(bench).card())
        bench.correct(len(bench.session.log), {"do": "rename", "category": category, "name": "Mine"})
        as_json(bench.view())
        bench.close()
    except (SubtaxaError, OSError) as error:  # As the app answers both with one sentence.
        print(error, file=sys.stderr)
        return 2
    return 0


def _forge_digests(run: Path) -> None:
    """Compute the digests of a run again, if its own files can still be read."""
    from subtaxa.runs.digests import digests
    from subtaxa.runs.manifest import digest_of

    if not all((run / name).is_file() and not (run / name).is_symlink() for name in ("run.json", "manifest.json")):
        return
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        facts = json.loads((run / "run.json").read_text())
        facts["files"] = digests(run)
        (run / "run.json").write_text(json.dumps(facts))
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["files"] = {n: digest_of(run / n) if (run / n).is_file() else d for n, d in manifest["files"].items()}
        (run / "manifest.json").write_text(json.dumps(manifest))


def _libraries() -> tuple[str, ...]:
    """Where Python and its packages are."""
    return tuple({os.path.abspath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path})


def campaign(folder: Path, encoder: str, mutations: int, seed: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """How often each command was run, and what went wrong."""
    evil, counts, wrong = Evil(folder, encoder), Counter[str](), []
    gc.freeze()  # A fork then copies less memory.
    for number in range(first, first + mutations):
        command, what, trouble = evil.trial(number, random.Random(f"{seed} {number}"))
        counts[command] += 1
        if trouble:
            wrong.append(f"{number} ({command}; {what}): {trouble}")
            print(wrong[-1], file=sys.stderr, flush=True)
    return counts, wrong


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--mutations", type=int, default=5000, help="number of mutations (default: 5000)")
    options.add_argument(
        "--first", type=int, default=0, help="number of the first mutation, to run a part (default: 0)"
    )
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    from helpers.tiny_encoder import make_tiny_encoder

    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="subtaxa-evil-") as name:
        (Path(name) / "tiny").mkdir()
        encoder = make_tiny_encoder(Path(name) / "tiny")
        counts, wrong = campaign(Path(name), encoder, given.mutations, given.seed, given.first)
    print("| command | mutations |\n|---|---|")
    for command, count in sorted(counts.items()):
        print(f"| {command} | {count} |")
    print(f"\n{counts.total()} mutations in {time.monotonic() - begun:.0f} s, {len(wrong)} findings.")
    for line in wrong:
        print(f"- FOUND: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
