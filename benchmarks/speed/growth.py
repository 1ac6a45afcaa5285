"""Measure how each step of `discover` outside training grows with the number of texts, and how much memory it needs.

    python benchmarks/speed/growth.py 20000 200000 >> research/measurements/growth.jsonl
    python benchmarks/speed/growth.py 20000 200000 --labels 1 >> research/measurements/growth.jsonl

The texts are synthetic: each has some words of its category and some that all texts share. The encoder is a table of
word vectors, which takes no time, and nothing is trained. All other steps are those of a user's run.
The time is the processor time of the real process, so that other programs hardly matter. There is one JSON record for
each number of texts, and one with the growth: the time divided by that of the smallest, per text.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

CATEGORIES, OWN_WORDS, SHARED_WORDS = 300, 5, 2000
# Words of a text: some of its category, the others of all.
FROM_CATEGORY, FROM_ALL = 3, 4
# Steps that take less than this at both ends are not compared.
SECONDS = 1.0


def write_texts(file: Path, number: int, labels: int) -> None:
    """Write a table of texts with labels; every category belongs to one label."""
    rng = random.Random(0)  # noqa: S311
    with file.open("w", newline="", encoding="utf-8") as sink:
        writer = csv.writer(sink)
        writer.writerow(["text", "label"])
        for _ in range(number):
            category = rng.randrange(CATEGORIES)
            words = [f"own{category}x{i}" for i in rng.sample(range(OWN_WORDS), FROM_CATEGORY)]
            words += [f"shared{rng.randrange(SHARED_WORDS)}" for _ in range(FROM_ALL)]
            rng.shuffle(words)
            writer.writerow([" ".join(words), f"label {category % labels}"])


def write_encoder(folder: Path, dimensions: int) -> None:
    """Write a static model with a random vector for each word."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["unknown", *(f"own{c}x{i}" for c in range(CATEGORIES) for i in range(OWN_WORDS))]
    words += [f"shared{i}" for i in range(SHARED_WORDS)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "unknown"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    table = torch.randn(len(words), dimensions, generator=torch.Generator().manual_seed(0))
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)], device="cpu")
    model.save(str(folder), create_model_card=False)


def discover(number: int, labels: int, dimensions: int) -> dict[str, Any]:
    """Processor seconds of each step of a run, and the peak memory of the process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(folder / "texts.csv", number, labels)
        write_encoder(folder / "encoder", dimensions)
        command = [sys.executable, "-m", "subtaxa", "discover", str(folder / "texts.csv"), "--out", str(folder / "run")]
        command += ["--encoder", str(folder / "encoder"), "--epochs", "0", "--trained-layers", "0"]
        environment = os.environ | {"SUBTAXA_PROGRESS": "json"}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        seconds, step, before, watched = dict[str, float](), "Starting", 0.0, psutil.Process(process.pid)
        for line in process.stderr or ():
            opened = json.loads(line).get("step", step) if line.startswith("{") else step
            if opened != step:
                times = watched.cpu_times()
                seconds[step] = seconds.get(step, 0.0) + times.user + times.system - before
                step, before = opened, times.user + times.system
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        seconds[step] = seconds.get(step, 0.0) + usage.ru_utime + usage.ru_stime - before
    return {
        "texts": number,
        "labels": labels,
        "dimensions": dimensions,
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
    }


def growth(small: dict[str, Any], large: dict[str, Any]) -> dict[str, float]:
    """The time of each step that counts, divided by that of fewer texts and by the number of texts."""
    times = large["texts"] / small["texts"]
    return {
        name: round(seconds / max(small["seconds"].get(name, 0.0), 0.05) / times, 2)
        for name, seconds in large["seconds"].items()
        if seconds >= SECONDS
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", type=int, nargs="+", help="numbers of texts, such as 20000 200000")
    parser.add_argument("--labels", type=int, default=20, help="number of coarse labels (default: 20)")
    parser.add_argument("--dimensions", type=int, default=384, help="dimensions of the features (default: 384)")
    given = parser.parse_args()
    found = []
    for number in sorted(given.texts):
        found.append(discover(number, given.labels, given.dimensions))
        print(json.dumps(found[-1]), flush=True)
    if len(found) > 1:
        print(json.dumps({"labels": given.labels, "growth per text": growth(found[0], found[-1])}))


if __name__ == "__main__":
    main()
