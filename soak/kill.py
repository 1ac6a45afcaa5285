"""Kill `subtaxa discover` at random moments, resume it, and check that nothing was lost.

    python soak/kill.py

A run is first observed from start to end, with the phases it goes through and their durations. Other runs are then
killed at random moments, about equally often in each phase, and resumed. Their files must equal those of the
uninterrupted run byte for byte. SIGTERM and Ctrl-C are tested in the same way; they must also end the process quickly
and cleanly. The program prints a Markdown table. `make soak` runs it.
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

# Seconds that a process may take to end after SIGTERM or Ctrl-C.
PATIENCE = 10.0
# Files that must equal those of the uninterrupted run.
COMPARED = ("assignments.csv", "categories.csv", "suspect_labels.csv", "taxonomy.json", "tree.json")
COMPARED += ("tree.safetensors", "clusters.safetensors", "features.safetensors")

# Modules that a run imports. They are imported once, before the forks.
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

# `python -c PROBE LOG arguments` runs `subtaxa arguments` and writes a line to LOG when a phase starts.
PROBE = """
import os, sys, time
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def log_phase(phase):
    os.write(log, f"{time.monotonic()} {phase}\\n".encode())
log_phase("importing")
from contextlib import contextmanager
from subtaxa.cli import main
from subtaxa.runtime import progress
current = ""
def before(module, name, phase):
    real = getattr(module, name)
    def logged(*arguments, **named):
        log_phase(phase)
        result = real(*arguments, **named)
        if "moving" not in phase:
            log_phase(current)
        return result
    setattr(module, name, logged)
def hook():
    from subtaxa.training import checkpoint
    from subtaxa.runs import save, staging
    before(checkpoint, "save_state", "writing a checkpoint")
    before(save, "render_report", "rendering the report")
    before(staging, "_sync", "moving results into place")
step, note = progress.Progress.step, progress.Step.note
PHASES = {"Starting up": "importing", "Writing the run": "writing results"}
PHASES["Pretraining on the coarse labels"] = "pretraining"
@contextmanager
def logged_step(self, name, total=0):
    global current
    current = PHASES.get(name, name.lower())
    log_phase(current)
    if name == "Loading the encoder":
        hook()
    with step(self, name, total) as one:
        yield one
    if name == "Writing the run":
        log_phase("clearing the checkpoint")
def logged_note(self, text):
    log_phase("mining" if "comparing" in text else current)
progress.Progress.step, progress.Step.note = logged_step, logged_note
sys.exit(main.main())
"""


@dataclass(frozen=True)
class Event:
    """The start of a phase."""

    at: float
    phase: str


@dataclass(frozen=True)
class Moment:
    """A number of seconds after the n-th start of a phase."""

    phase: str
    occurrence: int
    after: float


@dataclass(frozen=True)
class Stopped:
    """How a process ended after a signal."""

    phase: str
    seconds: float
    code: int
    error: str


@dataclass(frozen=True)
class Child:
    """A process, the file of its output, and a function that returns its exit code once it has ended."""

    pid: int
    streams: Path
    ended: Callable[[], int | None]

    def wait(self, seconds: float = 600.0) -> int:
        until = time.monotonic() + seconds
        while (code := self.ended()) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"process {self.pid} did not end within {seconds:.0f} s")
            time.sleep(0.01)
        return code

    @property
    def error(self) -> str:
        return self.streams.read_text("utf-8", "replace")


def _probe(command: list[str], streams: str) -> None:
    """Run the command in a fork."""
    file = os.open(streams, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv[1:] = command
    exec(PROBE, {"__name__": "probe"})


class Campaign:
    """A corpus, an encoder, and an uninterrupted run to compare with."""

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
            raise SystemExit(f"the uninterrupted run failed: {process.error}")
        self.events = self.log(self.whole)

    def command(self, out: Path, *more: str) -> list[str]:
        fixed = f"--epochs {self.epochs} --pretrain-epochs 2 --batch-size 16 --trained-layers all --learning-rate 1e-3"
        fixed += " --neighbours 20 --quiet --encoder"
        discover = ["discover", str(self.source), "--out", str(out), *fixed.split(), self.encoder]
        return [f"{out}.log", *discover, *more]

    def start(self, out: Path, *more: str, fresh: bool = False) -> Child:
        """Start `discover` in a process of its own.

        With `fresh` it is a new interpreter. Otherwise it is a fork of one that has imported the libraries, which
        saves most of the time of such a small run.
        """
        command, streams = self.command(out, *more), Path(f"{out}.streams")
        if not fresh:
            process = self.context.Process(target=_probe, args=(command, str(streams)))
            process.start()
            return Child(process.pid or 0, streams, lambda: process.exitcode)
        with streams.open("wb") as file:
            popen = subprocess.Popen([sys.executable, "-c", PROBE, *command], stdout=file, stderr=file)
        return Child(popen.pid, streams, popen.poll)

    def log(self, out: Path) -> list[Event]:
        """The phases that have started so far."""
        path = Path(f"{out}.log")
        lines = path.read_text().splitlines() if path.exists() else []
        return [Event(float(at), phase) for at, _, phase in (line.partition(" ") for line in lines)]

    def phases(self) -> list[str]:
        return list(dict.fromkeys(event.phase for event in self.events))

    def moment(self, phase: str, rng: random.Random) -> Moment:
        """A random moment of a phase, within its duration in the uninterrupted run."""
        ends = [*(event.at for event in self.events[1:]), self.events[-1].at + 0.05]
        lasting = [end - event.at for event, end in zip(self.events, ends, strict=True) if event.phase == phase]
        which = rng.randrange(len(lasting))
        return Moment(phase, which, rng.uniform(0, lasting[which]))

    def earlier(self, moment: Moment) -> Moment:
        """The beginning of the phase before."""
        phases = self.phases()
        return Moment(phases[max(0, phases.index(moment.phase) - 1)], 0, 0.0)

    def stop(self, out: Path, moment: Moment, number: signal.Signals) -> Stopped:
        """Start a run and send it a signal at the moment, unless it ends before."""
        process = self.start(out, fresh=moment.phase == "importing")
        while process.ended() is None:
            starts = [event.at for event in self.log(out) if event.phase == moment.phase]
            if len(starts) > moment.occurrence:
                time.sleep(max(0.0, starts[moment.occurrence] + moment.after - time.monotonic()))
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
        """Stop a run and resume it. Returns how it ended and a description of what went wrong, if anything."""
        stopped, first = self.stop(out, moment, number), out
        for attempt in itertools.count(1):
            if stopped.code:
                break
            # The run ended before the signal, or in spite of it because it was as good as done.
            moment = replace(moment, after=moment.after / 2) if attempt % 4 else self.earlier(moment)
            out = first.with_name(f"{first.name}-retry-{attempt}")
            stopped = self.stop(out, moment, number)
        trouble = problem(stopped, number) or self.resume(out)
        print(_line(number, stopped, trouble), file=sys.stderr, flush=True)
        return stopped, trouble

    def resume(self, out: Path) -> str:
        """Resume a run. Returns a description of what is wrong with the result, if anything."""
        process = self.start(out, "--resume")
        if process.wait():
            return f"--resume failed: {process.error.strip()}"
        names, wanted = (sorted(path.name for path in folder.iterdir()) for folder in (out, self.whole))
        if names != wanted:
            return f"different files: {set(names) ^ set(wanted)}"
        different = [name for name in COMPARED if (out / name).read_bytes() != (self.whole / name).read_bytes()]
        return f"different content: {', '.join(different)}" if different else ""


def problem(stopped: Stopped, number: signal.Signals, patience: float = PATIENCE) -> str:
    """A description of what is wrong with how a process ended, if anything."""
    if number == signal.SIGKILL:
        return "" if stopped.code == -signal.SIGKILL else f"exit code {stopped.code}: {stopped.error.strip()}"
    if stopped.seconds > patience:
        return f"took {stopped.seconds:.1f} s to end"
    last = stopped.error.strip().rpartition("\n")[2]  # The result may be printed above it.
    if stopped.code != 128 + number or not last.startswith("subtaxa: stopped"):
        return f"exit code {stopped.code}: {stopped.error.strip()[-300:]}"
    return ""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--kills", type=int, default=30, help="number of SIGKILLs (default: 30)")
    options.add_argument("--stops", type=int, default=5, help="number of SIGTERMs and of Ctrl-Cs (default: 5)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=2, help="parallel runs (default: 2)")
    options.add_argument("--encoder", help="model folder to use instead of a tiny encoder")
    given = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell lets what runs in the background ignore Ctrl-C.
    rng = random.Random(given.seed)
    plan = [signal.SIGKILL] * given.kills + [signal.SIGTERM] * given.stops + [signal.SIGINT] * given.stops
    with tempfile.TemporaryDirectory(prefix="subtaxa-kill-") as folder:
        campaign = Campaign(Path(folder), given.encoder)
        phases = campaign.phases()
        order = itertools.chain.from_iterable(rng.sample(phases, len(phases)) for _ in plan)
        moments = [campaign.moment(phase, rng) for _, phase in zip(plan, order, strict=False)]
        outs = [Path(folder) / f"run-{i}" for i in range(len(plan))]
        with ThreadPoolExecutor(given.jobs) as pool:
            results = list(pool.map(campaign.trial, outs, moments, plan))
    stops = [stopped for stopped, _ in results]
    wrong = [_line(*row) for row in zip(plan, stops, (trouble for _, trouble in results), strict=True) if row[2]]
    _print_table(phases, list(zip(plan, stops, strict=True)), wrong)
    return 1 if wrong else 0


def _line(number: signal.Signals, stopped: Stopped, trouble: str) -> str:
    return f"{number.name} while {stopped.phase}: {trouble or 'same result'}"


def _print_table(phases: list[str], rows: list[tuple[signal.Signals, Stopped]], wrong: list[str]) -> None:
    count = Counter((number, stopped.phase) for number, stopped in rows)
    print("| killed or stopped while | SIGKILL | SIGTERM | Ctrl-C |\n|---|---|---|---|")
    kinds = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    for phase in phases:
        print(f"| {phase} | {' | '.join(str(count[kind, phase]) for kind in kinds)} |")
    print(f"| *all* | {' | '.join(str(sum(n for (k, _), n in count.items() if k == kind)) for kind in kinds)} |\n")
    print(f"{len(rows) - len(wrong)} of {len(rows)} runs had the same files after --resume as the uninterrupted run.")
    for kind in kinds[1:]:
        waited = [stopped.seconds for number, stopped in rows if number == kind]
        if waited:
            print(f"Seconds from {kind.name} to the end: {', '.join(f'{seconds:.1f}' for seconds in sorted(waited))}.")
    for line in wrong:
        print(f"- FAILED: {line}")


if __name__ == "__main__":
    sys.exit(main())
