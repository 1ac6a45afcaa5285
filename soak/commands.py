"""What the campaigns do with a run: the commands that write into it, run in this process or in a fork of it."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock


class Commands:
    """A run, and the arguments of each command that changes it."""

    def __init__(self, folder: Path, encoder: str) -> None:
        from helpers.corpus import planted_corpus

        self.folder = folder
        self.texts, self.more = folder / "texts.csv", folder / "more.csv"
        texts, labels, _ = planted_corpus(8)
        for path, some in ((self.texts, slice(0, 40)), (self.more, slice(40, 48))):
            with path.open("w", newline="", encoding="utf-8") as file:
                others = (("2026-01-01 12:30", i, ("mail", "chat")[i % 2]) for i in range(100))
                rows = zip(texts[some], labels[some], others, strict=False)
                csv.writer(file).writerows(
                    [("text", "label", "when", "number", "by"), *((a, b, *c) for a, b, c in rows)]
                )
        # With three tokens, most texts are cut, so that the run has a vocabulary as well.
        fixed = "--epochs 1 --pretrain-epochs 0 --batch-size 16 --neighbours 10 --categories 6 --max-tokens 3"
        fixed += " --quiet --encoder"
        self.discover = ["discover", str(self.texts), *fixed.split(), encoder, "--out"]
        self.base = folder / "base"
        run([*self.discover, str(self.base)])
        if not (self.base / "words.safetensors").exists():
            raise RuntimeError("the run has no vocabulary, so nothing could happen to it")
        run(["rename", str(self.base), "0", "Before", "--quiet"])
        self.corrections = folder / "corrections.json"
        fingerprint = json.loads((self.base / "run.json").read_text())["data"]["fingerprint"]
        self.row, self.to = self.to_move()
        corrections = [{"do": "rename", "category": 2, "name": "Corrected"}, {"do": "wrong", "rows": [self.row]}]
        content = {"subtaxa corrections": 1, "run": fingerprint, "edits": 1, "corrections": corrections}
        self.corrections.write_text(json.dumps(content))

    def all(self) -> dict[str, Callable[[Path], list[str]]]:
        """The arguments of each command for a run folder."""
        first, *others = self.siblings()
        return {
            "discover --overwrite": lambda out: [*self.discover, str(out), "--seed", "1", "--overwrite"],
            "update": lambda out: ["update", str(out), str(self.more), "--quiet"],
            "rename": lambda out: ["rename", str(out), "1", "After", "--quiet"],
            "merge": lambda out: ["merge", str(out), str(first), str(others[0]), "--quiet"],
            "split": lambda out: ["split", str(out), str(first), "--into", "2", "--quiet"],
            "move": lambda out: ["move", str(out), str(self.row), "--to", str(self.to), "--quiet"],
            "recut": lambda out: ["recut", str(out), "--categories", "9", "--quiet"],
            "ask": lambda out: ["ask", str(out), "--budget", "2", "--quiet"],
            "undo": lambda out: ["undo", str(out), "--quiet"],
            "edit": lambda out: ["edit", str(out), str(self.corrections), "--quiet"],
            "name": lambda out: ["name", str(out), "--endpoint", "http://localhost:1/v1", "--model", "m", "--quiet"],
            "assign --backend onnx-int8": lambda out: [
                *("assign", str(out), str(self.more), "--backend", "onnx-int8", "--overwrite", "--quiet"),
                *("--out", str(self.folder / "assigned.csv")),
            ],
            "open": lambda out: ["open", str(out)],
        }

    def siblings(self) -> list[int]:
        """The ids of the categories of the label that has most."""
        groups: dict[str, list[int]] = {}
        for category in json.loads((self.base / "taxonomy.json").read_text()):
            groups.setdefault(category["parent"], []).append(category["id"])
        return max(groups.values(), key=len)

    def to_move(self) -> tuple[int, int]:
        """The row of a text, and another category of its label."""
        with (self.base / "assignments.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        pairs = ((one, other) for one in lines for other in lines if one["label"] == other["label"])
        row, to = next((a["row"], b["category_id"]) for a, b in pairs if a["category_id"] != b["category_id"])
        return int(row), int(to)


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """`name` asks no server, and `ask` no person: the answers are yes, no, yes and so on. No question is too easy."""
    from subtaxa.cli import ask
    from subtaxa.taxonomy import questions
    from subtaxa.taxonomy.chat_client import ChatServer

    names = iter(f"named {i}" for i in range(100))
    with (
        mock.patch.object(ChatServer, "ask", side_effect=names),
        mock.patch.object(ask, "_key", side_effect=itertools.cycle("yn")),
        mock.patch.object(questions, "WORTH", 0.0),
    ):
        yield


def run(arguments: list[str]) -> None:
    """Run a command, which must succeed."""
    from subtaxa.cli.main import main

    out, error = io.StringIO(), io.StringIO()
    with answering(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = edit_in_app(Path(arguments[1])) if arguments[0] == "open" else main(arguments)
    if code:
        raise RuntimeError(f"{' '.join(arguments)} failed: {error.getvalue().strip()}")


def edit_in_app(folder: Path) -> int:
    """What the app does with a run: three edits, each written at once, and the tables at the end."""
    from subtaxa.app.workbench import Workbench

    bench = Workbench(folder)
    known = len(bench.session.log)
    bench.correct(known, {"do": "rename", "category": 1, "name": "In the app"})
    bench.undo(known + 1)
    bench.redo(known + 2)
    bench.close()
    return 0


def forked(work: Callable[[], None]) -> tuple[int, str]:
    """Do something in a fork. Returns its exit code and, if it failed, why."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(write, repr(error).encode()[:4000])
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        reason = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), reason
