"""Kill `subtaxa discover` anywhere, resume it, and see that nothing was lost. `make soak` runs it.

A run is watched once from beginning to end: which phases it goes through, and how long each takes. Then it is killed
at random moments, as many in each phase, and resumed; the result must be that of the run that nobody killed, bit by
bit. The same with SIGTERM and Ctrl-C, which must also end it soon and cleanly. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from pathlib import Path

PATIENCE = 10.0  # seconds in which a process must end that was asked to
SAME = ("assignments.csv", "categories.csv", "taxonomy.json", "clusters.safetensors", "features.safetensors")

# What a run imports sooner or later: imported once, it is there in every fork.
LIBRARIES = [
    "subtaxa.cli.main",
    "subtaxa.data.texts",
    "subtaxa.discovery",
    "subtaxa.runs.save",
    "subtaxa.runtime.folder_lock",
    "filelock",
    "pandas",
]
LIBRARIES += ["openTSNE", "sentence_transformers", "transformers.models.bert.modeling_bert", "safetensors.torch"]
LIBRARIES += ["sklearn.feature_extraction.text", "rich.console"]

# `python -c PROBE LOG arguments` is `subtaxa arguments`, with a line in LOG for each phase as it begins.
PROBE = """
import os, sys, time
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def say(phase):
    os.write(log, f"{time.monotonic()} {phase}\\n".encode())
say("importing")
from contextlib import contextmanager
from subtaxa.cli import main
from subtaxa.runtime import progress
current = ""
def before(module, name, phase):
    real = getattr(module, name)
    def told(*arguments, **named):
        say(phase)
        result = real(*arguments, **named)
        if "moving" not in phase:
            say(current)
        return result
    setattr(module, name, told)
def hook():
    from subtaxa.training import checkpoint
    from subtaxa.runs import save
    from subtaxa.runs import layout
    before(checkpoint, "save_state", "writing a checkpoint")
    before(save, "render_report", "rendering the report")
    before(layout, "_sync", "moving results into place")
step, note = progress.Progress.step, progress.Step.note
PHASES = {"Starting up": "importing", "Pretraining on the labels": "pretraining", "Writing the run": "writing results"}
@contextmanager
def told_step(self, name, total=0):
    global current
    current = PHASES.get(name, name.lower())
    say(current)
    if name == "Loading the encoder":
        hook()
    with step(self, name, total) as one:
        yield one
    if name == "Writing the run":
        say("clearing the checkpoint")
def told_note(self, text):
    say("mining" if "comparing" in text else current)
progress.Progress.step, progress.Step.note = told_step, told_note
sys.exit(main.main())
"""


@dataclass(frozen=True)
class Event:
    """A phase began."""

    at: float
    phase: str


@dataclass(frozen=True)
class Moment:
    """Some seconds after a phase began for the n-th time."""

    phase: str
    occurrence: int
    after: float


@dataclass(frozen=True)
class Stopped:
    """How a process ended that got a signal."""

    phase: str
    seconds: float
    code: int
    error: str


@dataclass(frozen=True)
class Child:
    """A process, what it printed, and its exit code, once it has one."""

    pid: int
    streams: Path
    ended: Callable[[], int | None]

    def wait(self, seconds: float = 600.0) -> int:
        until = time.monotonic() + seconds
        while (code := self.ended()) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"process {self.pid} has not ended")
            time.sleep(0.01)
        return code

    @property
    def error(self) -> str:
        return self.streams.read_text("utf-8", "replace")


def _probe(command: list[str], streams: str) -> None:
    """In a fork: be the command."""
    file = os.open(streams, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv[1:] = command
    exec(PROBE, {"__name__": "probe"})


class Campaign:
    """A corpus, an encoder, and a run that nobody killed."""

    def __init__(
        self, folder: Path, encoder: str | None = None, epochs: int = 4, per_topic: int = 15, fresh: bool = True
    ) -> None:
        self.folder, self.epochs = folder, epochs
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(LIBRARIES)
        forkserver.ensure_running()
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from helpers.corpus import planted_corpus
        from helpers.tiny_encoder import make_tiny_encoder

        (folder / "tiny").mkdir()
        self.encoder = encoder or make_tiny_encoder(folder / "tiny")
        self.source = folder / "planted.csv"
        with self.source.open("w", newline="", encoding="utf-8") as file:
            texts, labels, _ = planted_corpus(per_topic)
            csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
        self.whole = folder / "whole"
        process = self.start(self.whole, fresh=fresh)
        if process.wait():
            raise SystemExit(f"the run that nobody killed failed: {process.error}")
        self.events = self.log(self.whole)

    def command(self, out: Path, *more: str) -> list[str]:
        fixed = f"--epochs {self.epochs} --pretrain-epochs 2 --batch-size 16 --trained-layers all --learning-rate 1e-3"
        fixed += " --neighbours 20 --quiet --encoder"
        discover = ["discover", str(self.source), "--out", str(out), *fixed.split(), self.encoder]
        return [f"{out}.log", *discover, *more]

    def start(self, out: Path, *more: str, fresh: bool = False) -> Child:
        """A process of its own that runs discover: an interpreter begun anew, or a fork of one that has only imported
        the libraries, which takes most of the time of so small a run."""
        command, streams = self.command(out, *more), Path(f"{out}.streams")
        if not fresh:
            process = self.context.Process(target=_probe, args=(command, str(streams)))
            process.start()
            return Child(process.pid or 0, streams, lambda: process.exitcode)
        with streams.open("wb") as file:
            begun = subprocess.Popen([sys.executable, "-c", PROBE, *command], stdout=file, stderr=file)
        return Child(begun.pid, streams, begun.poll)

    def log(self, out: Path) -> list[Event]:
        """The phases so far."""
        path = Path(f"{out}.log")
        lines = path.read_text().splitlines() if path.exists() else []
        return [Event(float(at), phase) for at, _, phase in (line.partition(" ") for line in lines)]

    def phases(self) -> list[str]:
        return list(dict.fromkeys(event.phase for event in self.events))

    def moment(self, phase: str, chance: random.Random) -> Moment:
        """A random moment in a phase, as long as it took in the run that nobody killed."""
        ends = [*(event.at for event in self.events[1:]), self.events[-1].at + 0.05]
        lasting = [end - event.at for event, end in zip(self.events, ends, strict=True) if event.phase == phase]
        which = chance.randrange(len(lasting))
        return Moment(phase, which, chance.uniform(0, lasting[which]))

    def stop(self, out: Path, moment: Moment, number: signal.Signals) -> Stopped:
        """Start a run, and send it a signal at the moment, if it has not come to its end before."""
        process = self.start(out, fresh=moment.phase == "importing")
        while process.ended() is None:
            begun = [event.at for event in self.log(out) if event.phase == moment.phase]
            if len(begun) > moment.occurrence:
                time.sleep(max(0.0, begun[moment.occurrence] + moment.after - time.monotonic()))
                break
            time.sleep(0.01)
        sent = time.monotonic()
        if process.ended() is None:
            os.kill(process.pid, number)
        code = process.wait()
        seconds = time.monotonic() - sent
        phase = [event.phase for event in self.log(out) if event.at <= sent][-1]
        return Stopped(phase, seconds, code, process.error)

    def trial(self, out: Path, moment: Moment, number: signal.Signals) -> tuple[Stopped, str]:
        """Stop a run and resume it: how it ended, and what is wrong, if anything."""
        stopped = self.stop(out, moment, number)
        while stopped.code == 0:  # the run was faster than the signal
            out, moment = out.with_name(f"{out.name}-again"), replace(moment, after=moment.after / 2)
            stopped = self.stop(out, moment, number)
        trouble = judge(stopped, number) or self.resume(out)
        print(_told(number, stopped, trouble), file=sys.stderr, flush=True)
        return stopped, trouble

    def resume(self, out: Path) -> str:
        """Go on, and what is wrong with the result, if anything."""
        process = self.start(out, "--resume")
        if process.wait():
            return f"--resume failed: {process.error.strip()}"
        names, wanted = (sorted(path.name for path in folder.iterdir()) for folder in (out, self.whole))
        if names != wanted:
            return f"other files: {set(names) ^ set(wanted)}"
        different = [name for name in SAME if (out / name).read_bytes() != (self.whole / name).read_bytes()]
        return f"differs: {', '.join(different)}" if different else ""


def judge(stopped: Stopped, number: signal.Signals, patience: float = PATIENCE) -> str:
    """What is wrong with how a process ended, if anything."""
    if number == signal.SIGKILL:
        return "" if stopped.code == -signal.SIGKILL else f"exit code {stopped.code}: {stopped.error.strip()}"
    if stopped.seconds > patience:
        return f"ended only after {stopped.seconds:.1f} s"
    last = stopped.error.strip().rpartition("\n")[2]  # the result is above it if the signal came after that
    if stopped.code != 128 + number or not last.startswith("subtaxa: stopped"):
        return f"exit code {stopped.code}: {stopped.error.strip()[-300:]}"
    return ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--stops", type=int, default=5, help="of SIGTERM and of Ctrl-C each")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options.add_argument("--encoder", help="a model folder in place of a tiny encoder made here")
    given = options.parse_args()
    chance = random.Random(given.seed)
    plan = [signal.SIGKILL] * given.kills + [signal.SIGTERM] * given.stops + [signal.SIGINT] * given.stops
    with tempfile.TemporaryDirectory(prefix="subtaxa-kill-") as folder:
        campaign = Campaign(Path(folder), given.encoder)
        phases = campaign.phases()
        order = itertools.chain.from_iterable(chance.sample(phases, len(phases)) for _ in plan)
        moments = [campaign.moment(phase, chance) for _, phase in zip(plan, order, strict=False)]
        outs = [Path(folder) / f"run-{i}" for i in range(len(plan))]
        with ThreadPoolExecutor(given.jobs) as pool:
            results = list(pool.map(campaign.trial, outs, moments, plan))
    stops = [stopped for stopped, _ in results]
    wrong = [_told(*row) for row in zip(plan, stops, (trouble for _, trouble in results), strict=True) if row[2]]
    _print_table(phases, list(zip(plan, stops, strict=True)), wrong)
    return 1 if wrong else 0


def _told(number: signal.Signals, stopped: Stopped, trouble: str) -> str:
    return f"{number.name} while {stopped.phase}: {trouble or 'same result'}"


def _print_table(phases: list[str], rows: list[tuple[signal.Signals, Stopped]], wrong: list[str]) -> None:
    count = Counter((number, stopped.phase) for number, stopped in rows)
    print("| killed or stopped while | SIGKILL | SIGTERM | Ctrl-C |\n|---|---|---|---|")
    kinds = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    for phase in phases:
        print(f"| {phase} | {' | '.join(str(count[kind, phase]) for kind in kinds)} |")
    print(f"| *all* | {' | '.join(str(sum(n for (k, _), n in count.items() if k == kind)) for kind in kinds)} |\n")
    print(f"{len(rows) - len(wrong)} of {len(rows)} runs ended, after --resume, with the same files, bit by bit,")
    print("as the run that nobody stopped.")
    for kind in kinds[1:]:
        waited = [stopped.seconds for number, stopped in rows if number == kind]
        if waited:
            print(f"Seconds from {kind.name} to the end: {', '.join(f'{seconds:.1f}' for seconds in sorted(waited))}.")
    for line in wrong:
        print(f"- WRONG: {line}")


if __name__ == "__main__":
    sys.exit(main())
