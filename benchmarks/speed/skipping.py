"""What can be skipped, and what that costs: the time of an epoch of the default on HWU64 beside its scores.

    cd benchmarks && python -m speed.skipping ../../shared/data             each kind's time, beside the records' scores
    cd benchmarks && python -m speed.skipping ../../shared/data arithmetic  other arithmetic, on the bare encoder

Times are ratios to the default's, from part of the texts, all kinds taking turns; scores are the means of the records
in results/runs (`subtaxa bench run`). An epoch is one that begins with reading all texts, as all but the first do.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from common import coarse_numbers
from speed.rows import seconds

from subtaxa.bench.datasets import Dataset, load
from subtaxa.bench.paper.summary import scores
from subtaxa.bench.records import Job, Record, read_all
from subtaxa.bench.running import settings_of
from subtaxa.encoders.sentence_encoder import Encoder
from subtaxa.methods import method_class
from subtaxa.methods.base import TrainingData
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer

TEXTS, ROUNDS = 1500, 2
PATIENCE = 300  # seconds that one kind of arithmetic may take, compiling included
BATCH, LENGTH = 64, 12  # texts and tokens: a typical batch of HWU64
RUNS = Path(__file__).parents[2] / "results" / "runs"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "the default": ("soft-dna", {}),
    "the lower four layers: frozen, their states kept": ("soft-dna", {"trained_layers": 2}),
    "reading all texts before an epoch: the queue is as the steps left it": ("soft-dna-no-refresh", {}),
    "nothing, and a momentum pass in each step besides": ("soft-dna-momentum", {}),
    "nothing, and whole texts in place of shorter views": ("soft-dna", {"augment": "none"}),
}


def an_epoch(data: Dataset, whole: Dataset, method: str, changes: dict[str, Any]) -> float:
    """Seconds of the second epoch on some of the texts, with the settings that all of them get."""
    settings = settings_of(Job("hwu64", method, "default", 0, changes=changes), whole)
    labels = coarse_numbers(data.train)
    encoder = encoder_for(settings)
    tokens = encoder.cache_lower(encoder.tokenise(data.train.texts))
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


def main(folder: Path) -> None:
    whole = load("hwu64", folder)
    data = whole.limited(TEXTS)
    spent: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(ROUNDS):
        for name, (method, changes) in KINDS.items():
            spent[name].append(an_epoch(data, whole, method, changes))
    usual = statistics.median(spent["the default"])
    print("| skipped | time of training | ACC ARI NMI by `discover` | seeds |\n|---|---|---|---|")
    for name, (method, changes) in KINDS.items():
        share = statistics.median(spent[name]) / usual
        runs = recorded(method, changes)
        found = (
            " ".join(f"{scores(runs, 'discover', part).mean:.1f}" for part in ("acc", "ari", "nmi")) if runs else "–"
        )
        print(f"| {name} | {share:.2f} | {found} | {len(runs)} |")


def one_pass(kind: str) -> Callable[[], Any]:
    """A batch through the bare encoder and back, in one kind of arithmetic."""
    bare = Encoder("packaged", trained_layers="layers").tower.transformer.train()
    run = torch.compile(bare) if kind == "compiled" else bare
    ids, mask = torch.randint(1000, 20000, (BATCH, LENGTH)), torch.ones(BATCH, LENGTH, dtype=torch.long)

    def work() -> None:
        with torch.autocast("cpu", torch.bfloat16) if kind == "16 bits" else nullcontext():
            out = run(input_ids=ids, attention_mask=mask).last_hidden_state  # (B, L, D)
        out.float().sum().backward()
        bare.zero_grad()

    return work


def arithmetic() -> None:
    """Each kind in a process of its own, which may take only so long."""
    print("| a batch through the bare encoder and back | milliseconds | the first time, seconds |\n|---|---|---|")
    for kind in ("32 bits", "16 bits", "compiled"):
        command = [sys.executable, "-m", "speed.skipping", "one", kind]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
            print(f"| {kind} | {done.stdout.strip()} |", flush=True)
        except subprocess.TimeoutExpired:
            print(f"| {kind} | not done in {PATIENCE} s | |", flush=True)


def one(kind: str) -> None:
    work = one_pass(kind)
    begun = time.perf_counter()
    work()
    first = time.perf_counter() - begun
    print(f"{1000 * seconds(work, 5):.0f} | {first:.1f}")


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(sys.argv[2])
    elif sys.argv[2:] == ["arithmetic"]:
        arithmetic()
    else:
        main(Path(sys.argv[1]))
