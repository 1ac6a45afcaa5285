"""Change the files of a run folder as a stranger might, use the run, and report whatever reaches out of the folder.

    python soak/evil.py --mutations 5000

Each mutation changes one key of one JSON file or of one line of the log of edits (a path, an address, a huge or deeply
nested value, another type, another number, or no value) or one array (NaN, another shape or type, a cycle). The digests
are then computed again, as a stranger would. `info`, `assign`, `update`, `rename`, `recut` or `ask` then uses the run.
It does so in a fork that reports every file opened outside the folder, every socket, every child process and every
question. The files that mutated paths lead to must not have been read. A command must succeed, or fail with one
sentence. The program prints a Markdown table. `make soak` runs it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gc
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from kill_writes import Commands, answering, forked, run  # noqa: E402

COMMANDS = ("info", "assign", "update", "rename", "recut", "ask")
# Keys that once made a library do something else, by file.
DANGEROUS: dict[str, list[str]] = {
    "model/config.json": ["auto_map", "base_model_name_or_path", "_name_or_path", "quantization_config", "backbone"],
    "model/sentence_bert_config.json": ["tokenizer_name_or_path", "model_args", "config_args", "max_seq_length"],
    "model/tokenizer_config.json": [
        "vocab",
        "vocab_file",
        "tokenizer_file",
        "auto_map",
        "chat_template",
        "name_or_path",
    ],
    "model/config_sentence_transformers.json": ["requirements"],
    "manifest.json": ["files", "shown"],
}
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
        row, self.category = self._to_move()
        run(["move", str(self.base), row, "--to", self.category, "--quiet"])
        for name in ("config.json", "vocab.txt", "secret", "model.safetensors"):
            (self.outside / name).write_text('{"model_type": "bert"}')
        self.files = sorted(path.relative_to(self.base).as_posix() for path in self.base.rglob("*.json*"))
        self.arrays = sorted(path.relative_to(self.base).as_posix() for path in self.base.rglob("*.safetensors"))

    def _to_move(self) -> tuple[str, str]:
        """The row of a text, and another category of its label."""
        with (self.base / "assignments.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        pairs = ((one, other) for one in lines for other in lines if one["label"] == other["label"])
        return next((a["row"], b["category_id"]) for a, b in pairs if a["category_id"] != b["category_id"])

    def mutate(self, run: Path, rng: random.Random) -> str:
        """Change one thing, and return a description."""
        if rng.random() < 0.15:
            return self._mutate_array(run, rng)
        name = rng.choice(self.files)
        lines = name.endswith(".jsonl")
        text = (run / name).read_text()
        content = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        if name in DANGEROUS and isinstance(content, dict) and rng.random() < 0.4:
            key, value = rng.choice(DANGEROUS[name]), self._value(rng)
            content[key] = value
            what = f"{name}: {key} is {repr(value)[:60]}"
        else:
            place, key = rng.choice(list(_places(content)))
            if rng.random() < 0.15 and isinstance(place, dict):
                del place[key]
                what = f"{name}: without {key}"
            else:
                value = self._value(rng)
                place[key] = value
                what = f"{name}: {key} is {repr(value)[:60]}"
        with contextlib.suppress(ValueError):
            text = "".join(f"{json.dumps(line)}\n" for line in content) if lines else json.dumps(content)
            (run / name).write_text(text)
        if rng.random() < 0.02:
            (run / name).write_text('{"a":' * 100_000)
        return what

    def _value(self, rng: random.Random) -> Any:
        path, nested = str(self.outside), []
        for _ in range(200):
            nested = [nested]
        return rng.choice(
            [
                *(
                    path,
                    f"{path}/vocab.txt",
                    f"{path}/config.json",
                    "../outside/vocab.txt",
                    "x/../../../outside/secret",
                ),
                *("http://127.0.0.1:9/x", "https://huggingface.co/evil/model", "evil/model", "bert-base-uncased"),
                *(-1, 0, 1, 2, 3, 7, 40, 2**31, 2**70, 10**400, 1e308, float("nan"), float("inf"), 0.5, True, None),
                *("", "\ud800", "\0"),
                *([], {}, [1], {"a": 1}, nested, "x" * 100_000, "evil.Evil", {"AutoModel": "evil.Evil"}),
                *({"variant": f"x/../../{path}"}, {"offload_folder": f"{path}/new"}, {"gguf_file": f"{path}/secret"}),
                *({"content": path}, [path], {"_configuration_file": "../../outside/config.json"}, "retrieval"),
            ]
        )

    def _mutate_array(self, run: Path, rng: random.Random) -> str:
        from safetensors.numpy import load, save

        name = rng.choice(self.arrays)
        arrays = {key: array.copy() for key, array in load((run / name).read_bytes()).items()}
        key, how = (
            rng.choice(sorted(arrays)),
            rng.choice(["NaN", "infinity", "type", "shape", "empty", "missing", "big", "cycle", "other"]),
        )
        array = arrays[key]
        if how in ("NaN", "infinity") and array.dtype.kind == "f" and array.size:
            array.flat[0] = np.nan if how == "NaN" else np.inf
        elif how == "type":
            arrays[key] = array.astype(rng.choice([np.float64, np.int8, np.uint8, np.bool_, np.float16]))
        elif how == "shape":
            arrays[key] = array.reshape(-1)
        elif how == "empty":
            arrays[key] = array[:0]
        elif how == "missing":
            del arrays[key]
        elif how == "cycle" and array.dtype.kind in "iu" and array.size > 1:
            array.flat[:] = array.flat[::-1].copy()
        elif how == "other" and array.size:
            array.flat[rng.randrange(array.size)] = array.flat[rng.randrange(array.size)] + 1
        elif array.size:
            array.flat[-1] = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1e30
        (run / name).write_bytes(save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))
        return f"{name}: {key} {how}"

    def trial(self, number: int, rng: random.Random) -> tuple[str, str, str]:
        """Mutate a run and use it. Returns the command, what was mutated, and what went wrong, if anything."""
        run = self.folder / "evil"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.base, run)
        what, command = self.mutate(run, rng), rng.choice(COMMANDS)
        _forge_digests(run)
        for path in self.outside.iterdir():
            os.utime(path, (0, time.time()))
        before = {path.name for path in self.outside.iterdir()}
        report = self.folder / "report"
        report.write_text("")
        code, why = forked(lambda: self._use(run, command, report))
        wrong = [] if code == 0 else [f"exit code {code}: {why}"]
        wrong += sorted(set(report.read_text().splitlines()))[:3]
        wrong += [f"{path.name} was read" for path in self.outside.iterdir() if path.stat().st_atime]
        wrong += [f"{path.name} was made" for path in self.outside.iterdir() if path.name not in before]
        return command, what, "; ".join(wrong)

    def _use(self, run: Path, command: str, report: Path) -> None:
        """Run a command with every way out watched."""
        from subtaxa.cli.main import main

        written = (str(self.folder / "assigned.csv"), str(self.folder / ".assigned.csv-"))
        allowed = (str(run), *written, str(self.commands.more), *HARMLESS, *_libraries())
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
                *("--out", str(self.folder / "assigned.csv")),
            ],
            "update": ["update", str(run), str(self.commands.more), "--quiet"],
            "rename": ["rename", str(run), self.category, "Mine", "--quiet"],
            "recut": ["recut", str(run), "--categories", "8", "--quiet"],
            "ask": ["ask", str(run), "--budget", "2", "--quiet"],
        }[command]
        os.chdir(run)  # Removing a folder opens its parts by their bare names.
        sys.addaudithook(watch)
        out, error = io.StringIO(), io.StringIO()
        with answering(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = main(arguments)
        if code not in (0, 2) or (code == 2 and error.getvalue().count("\n") != 1):
            raise RuntimeError(f"{code}: {error.getvalue()[:300]}")


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object in a JSON value with each of its indices or keys."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield content, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def _forge_digests(run: Path) -> None:
    """Compute the digests of a run again, if its own files can still be read."""
    from subtaxa.runs.digests import digests
    from subtaxa.runs.manifest import digest_of

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
