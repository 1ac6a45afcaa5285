"""Run `subtaxa demo` as a user does, and measure it in bare forward passes of the packaged encoder over the same texts.

    python benchmarks/speed/forward_equivalents.py >> research/measurements/forward_equivalents.jsonl
    python benchmarks/speed/forward_equivalents.py --texts 300 --epochs 1

A forward pass is one `SentenceTransformer.encode` of the texts, right before and right after the run, with the same
number of threads. The ratio depends little on the machine. Every option but `--texts` is passed on to `subtaxa`; with
`--texts`, it discovers that many texts of the example. The JSON record has the wall time and the processor time of
both, the ratios of the whole, of each step and of all steps outside training, and when the first look was shown.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from measurement import Measurement, of_children

from subtaxa.runtime.cores import cores, share_cores

# The steps that training consists of, with the two passes over all texts before and after it.
TRAINING = ("Encoding all texts before training", "Training", "Encoding all texts")
FIRST_LOOK = "A first look"
# This many texts take at most so many seconds on two idle cores.
TEXTS, SECONDS = 300, 20
# The cores are not idle if other programs use this much of them, in percent.
BUSY = 20


def example(number: int | None) -> tuple[list[str], list[str]]:
    """Texts and labels of the example: all, or some from its whole length."""
    from subtaxa.data.example import example_texts

    data = example_texts()
    some = range(len(data)) if number is None else [i * len(data) // number for i in range(number)]
    return [data.texts[i] for i in some], [data.labels[i] for i in some]


def forward(pipeline: Any, texts: list[str]) -> dict[str, float]:
    """Wall time and processor time of a bare pass."""
    wall, processor = time.perf_counter(), time.process_time()
    pipeline.encode(texts, show_progress_bar=False)
    return {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


def run(texts: list[str], labels: list[str], options: Sequence[str]) -> dict[str, Any]:
    """Wall time and processor time of `subtaxa discover`, the time of its first look, and its own timings."""
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name) / "texts.csv", Path(name) / "run"
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
        command = [sys.executable, "-m", "subtaxa", "discover", str(source), "--out", str(folder), *options]
        before, start, look = of_children(), time.perf_counter(), None
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr or ():
                look = time.perf_counter() - start if line.startswith(FIRST_LOOK) else look
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        spent = {"wall": time.perf_counter() - start, "processor": of_children() - before}
        timings = json.loads((folder / "run.json").read_text(encoding="utf-8"))["timings"]
    return {**spent, "look": look, "timings": timings}


def record(number: int | None = None, options: Sequence[str] = ()) -> dict[str, Any]:
    """The measurement of one run."""
    share_cores()
    import torch

    from subtaxa.encoders.loading import load_pipeline

    texts, labels = example(number)
    torch.set_num_threads(min(torch.get_num_threads(), cores()))
    pipeline = load_pipeline("packaged")
    pipeline.encode(texts[:32], show_progress_bar=False)
    first, spent, last = forward(pipeline, texts), run(texts, labels, options), forward(pipeline, texts)
    bare = {name: (first[name] + last[name]) / 2 for name in first}
    outside = spent["wall"] - sum(spent["timings"].get(step, 0.0) for step in TRAINING)
    return {
        "texts": len(texts),
        "options": " ".join(options),
        "threads": torch.get_num_threads(),
        "seconds": round(spent["wall"], 1),
        "processor_seconds": round(spent["processor"], 1),
        "forward_seconds": round(bare["wall"], 2),
        "forward_processor_seconds": round(bare["processor"], 2),
        "forward_passes": round(spent["processor"] / bare["processor"], 1),
        "forward_passes_of_wall_time": round(spent["wall"] / bare["wall"], 1),
        "outside_training": round(outside / bare["wall"], 1),
        "first_look": None if spent["look"] is None else round(spent["look"] / bare["wall"], 1),
        "steps": {name: round(seconds / bare["wall"], 2) for name, seconds in spent["timings"].items()},
    }


def measure() -> list[Measurement]:
    """The example and 300 texts of it, with the default settings."""
    whole, lacks = record(), "" if cores() > 1 and psutil.cpu_percent(1.0) < BUSY else "two idle cores"
    few = record(TEXTS)
    how = f"{whole['texts']:,} texts, {whole['seconds']:.0f} s; a forward pass takes {whole['forward_seconds']:.1f} s"
    unit, threads = "forward passes", f"{few['threads']} threads"
    return [
        Measurement("discover, the built-in example", whole["forward_passes"], 12, False, how, unit),
        Measurement("the same, all steps outside training", whole["outside_training"], 3, False, how, unit),
        Measurement(f"discover, {TEXTS} texts", few["seconds"], SECONDS, False, threads, "s", lacks),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, help="number of texts (default: the whole example)")
    given, options = parser.parse_known_args()
    print(json.dumps(record(given.texts, options) | {"cores": cores(), "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
