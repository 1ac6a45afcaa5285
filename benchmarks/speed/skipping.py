"""Measure what can be skipped in training and what it costs: time per epoch on HWU64 next to the scores.

    python benchmarks/speed/skipping.py ../shared/data                 time of each variant, next to recorded scores
    python benchmarks/speed/skipping.py ../shared/data --arithmetic    other number formats, on the bare encoder

Times are ratios to the default's, measured on part of the texts, with all variants taking turns. Scores are means over
the records in research/runs (`subtaxa bench run`). The epoch is one that starts by encoding all texts, as all but the
first do.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from measurement import seconds

from subtaxa.bench.datasets import Dataset, load
from subtaxa.bench.paper.aggregation import scores
from subtaxa.bench.records import Job, Record, read_all
from subtaxa.bench.running import settings_of
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.methods import method_class
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

TEXTS, ROUNDS = 1500, 2
FORMATS = ("32 bits", "16 bits", "compiled")
# Seconds allowed for one number format, including compilation.
TIMEOUT = 300
# Texts and tokens of a typical batch of HWU64.
BATCH, LENGTH = 64, 12
RUNS = Path(__file__).resolve().parents[2] / "research" / "runs"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "the default": ("soft-dna", {}),
    "training of the lower four layers; their output is cached": ("soft-dna", {"trained_layers": 2}),
    "encoding all texts before an epoch; the queue stays as the steps left it": ("soft-dna-no-refresh", {}),
    "nothing; each step has a momentum pass in addition": ("soft-dna-momentum", {}),
    "nothing; whole texts instead of shortened ones": ("soft-dna", {"augment": "none"}),
}


def epoch_seconds(data: Dataset, whole: Dataset, method: str, changes: dict[str, Any]) -> float:
    """Seconds of the second epoch on part of the texts, with the settings chosen for all of them."""
    settings = settings_of(Job("hwu64", method, "default", 0, changes=changes), whole)
    labels = torch.from_numpy(data.train.coarse_codes)
    encoder = encoder_for(settings)
    tokens = encoder.cache_frozen(encoder.tokenise(data.train.texts))
    training = TrainingData(tokens, labels, data.n_coarse, data.n_fine)
    rows = Trainer(settings, 0, Progress()).run("", method_class(method)(settings), encoder, training, 2)
    return rows[1]["seconds"]


def recorded(method: str, changes: dict[str, Any]) -> list[Record]:
    """The default's runs on HWU64 with these changes."""
    wanted = {name: str(value) for name, value in changes.items()}
    return [
        run
        for run in read_all(RUNS)
        if (run.dataset, run.method, run.preset, run.limit) == ("hwu64", method, "default", None)
        and {name: str(value) for name, value in run.changes.items()} == wanted
    ]


def variants(folder: Path) -> None:
    whole = load("hwu64", folder)
    data = whole.limited(TEXTS)
    spent: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(ROUNDS):
        for name, (method, changes) in VARIANTS.items():
            spent[name].append(epoch_seconds(data, whole, method, changes))
    usual = statistics.median(spent["the default"])
    print("| skipped | training time | ACC ARI NMI by `discover` | seeds |\n|---|---|---|---|")
    for name, (method, changes) in VARIANTS.items():
        share = statistics.median(spent[name]) / usual
        runs = recorded(method, changes)
        found = (
            " ".join(f"{scores(runs, 'discover', part).mean:.1f}" for part in ("acc", "ari", "nmi")) if runs else "–"
        )
        print(f"| {name} | {share:.2f} | {found} | {len(runs)} |")


def one_pass(kind: str) -> Callable[[], Any]:
    """A forward and a backward pass of the bare encoder, in one number format."""
    bare = SentenceEncoder("packaged", trained_layers="layers").tower.transformer.train()
    run = torch.compile(bare) if kind == "compiled" else bare
    ids, mask = torch.randint(1000, 20000, (BATCH, LENGTH)), torch.ones(BATCH, LENGTH, dtype=torch.long)

    def work() -> None:
        with torch.autocast("cpu", torch.bfloat16) if kind == "16 bits" else nullcontext():
            out = run(input_ids=ids, attention_mask=mask).last_hidden_state  # (B, L, D)
        out.float().sum().backward()
        bare.zero_grad()

    return work


def arithmetic() -> None:
    """Measure each number format in a process of its own, with a time limit."""
    print("| forward and backward pass of the bare encoder | milliseconds | first pass, seconds |\n|---|---|---|")
    for kind in FORMATS:
        command = [sys.executable, str(Path(__file__).resolve()), ".", "--format", kind]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
            print(f"| {kind} | {done.stdout.strip()} |", flush=True)
        except subprocess.TimeoutExpired:
            print(f"| {kind} | not finished in {TIMEOUT} s | |", flush=True)


def one_format(kind: str) -> None:
    """Print the milliseconds of a pass and the seconds of the first one."""
    work = one_pass(kind)
    start = time.perf_counter()
    work()
    first = time.perf_counter() - start
    print(f"{1000 * seconds(work, 5):.0f} | {first:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("--arithmetic", action="store_true", help="compare number formats instead")
    parser.add_argument("--format", choices=FORMATS, help="measure this number format only")
    given = parser.parse_args()
    if given.format:
        one_format(given.format)
    elif given.arithmetic:
        arithmetic()
    else:
        variants(given.data)


if __name__ == "__main__":
    main()
