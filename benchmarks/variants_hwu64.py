"""Variants of the default recipe on HWU64: one JSON line each, scored on the test texts with the nearest centroid.

    python benchmarks/variants_hwu64.py ../shared/data --every 7 "" "epochs=0" "learning_rate=2e-4 momentum=0.99"

Each variant is a list of settings in place of the default's; "" is the default. `--every 7` takes each seventh training
text. "guess" is the number of categories guessed before training, "clearest" the one that looks clearest after it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from discover_hwu64 import read

from subtaxa import Discovery
from subtaxa.bench.scoring import score
from subtaxa.clustering import Forest
from subtaxa.encoder import Encoder
from subtaxa.how_many import clearest_total, readable, stable_total


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", type=Path, help="folder with hwu64/train.tsv and hwu64/test.tsv")
    options.add_argument("variants", nargs="+", help='settings, as in "epochs=3 momentum=0.99"')
    options.add_argument("--every", type=int, default=1, help="take each n-th training text")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    train = read(given.data / "hwu64" / "train.tsv")[:: given.every]
    test = read(given.data / "hwu64" / "test.tsv")
    texts, labels = [text for text, _ in train], [fine.split("_")[0] for _, fine in train]
    numbers = np.unique(labels, return_inverse=True)[1]
    guess = stable_total(Encoder().encode(texts).numpy(), numbers, given.seed)
    for variant in given.variants:
        settings = dict(setting.split("=") for setting in variant.split())
        begun = time.perf_counter()
        model = Discovery(len({fine for _, fine in train}), seed=given.seed, **settings).fit(texts, labels)
        seconds = time.perf_counter() - begun
        found = model.clusters_.nearest(model.transform([text for text, _ in test]))
        result = score([fine for _, fine in test], found)
        forest = Forest(model.transform(texts), numbers)
        record = {
            "variant": variant or "default",
            "texts": len(texts),
            "seed": given.seed,
            "acc": round(result.acc, 1),
            "ari": round(result.ari, 1),
            "nmi": round(result.nmi, 1),
            "guess": guess,
            "clearest": clearest_total(forest, range(1, readable(len(texts)) + 1)),
            "seconds": round(seconds),
            "cores": len(os.sched_getaffinity(0)),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
