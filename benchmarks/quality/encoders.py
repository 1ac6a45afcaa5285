r"""Score encoders as they come, without training, and pairs of them side by side.

    python benchmarks/quality/encoders.py ../shared/data hwu64 \
        packaged intfloat/multilingual-e5-small=FOLDER ... [--keep FOLDER] >> src/subtaxa/encoders/measured.jsonl
    python benchmarks/quality/encoders.py ../shared/data hwu64 packaged BAAI/bge-small-en-v1.5=FOLDER ... \
        --pairs --keep FOLDER >> research/measurements/encoder_pairs.jsonl

`subtaxa encoders` shows the first file. Each encoder is a name, or NAME=FOLDER where the weights are in a folder. Its
prompt is that of the catalogue. The default cluster rule divides the training texts into the true number of
categories, and each test text goes to the nearest centroid. The seconds are those of one processor core, for the
training and the test texts together. With `--pairs`, the first encoder is also scored with the features of each other
one beside its own, as a teacher would give them. With `--keep`, features are kept in a folder and read from there the
next time.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

import numpy as np
import torch
from common import options

from subtaxa.bench.datasets import Dataset, load
from subtaxa.bench.protocols import nearest_discovered
from subtaxa.bench.scoring import score
from subtaxa.encoders.catalogue import known
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.runtime.arrays import Floats, unit


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("encoders", nargs="+", metavar="NAME[=FOLDER]")
    parser.add_argument("--pairs", action="store_true", help="score the first encoder with each other one beside it")
    parser.add_argument("--keep", type=Path, help="folder in which features are kept")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = load(given.dataset, given.data)
    found: dict[str, tuple[Floats, Floats]] = {}
    for one in given.encoders:
        name, _, folder = one.partition("=")
        found[name], cost = features(data, given.dataset, name, folder or name, given.keep)
        show(given.dataset, name, data, found[name], given.seed, cost)
    first, *others = found
    for other in others if given.pairs else ():
        both = tuple(
            unit(np.concatenate(rows, axis=1).astype(np.float32))
            for rows in zip(found[first], found[other], strict=True)
        )
        show(given.dataset, f"{first} and {other}", data, both, given.seed, {})


def features(
    data: Dataset, dataset: str, name: str, model: str, keep: Path | None
) -> tuple[tuple[Floats, Floats], dict[str, float]]:
    """The features of the training and the test texts, and what they cost."""
    files = [keep / f"{dataset}-{name.replace('/', '--')}-{part}.npy" for part in ("train", "test")] if keep else []
    if files and all(file.exists() for file in files):
        return (np.load(files[0]), np.load(files[1])), {}
    entry = known(name)
    encoder = SentenceEncoder(model, prompt=entry.prompt if entry and entry.prompt else "model")
    start = time.process_time()
    train, test = (encoder.encode(part.texts).numpy() for part in (data.train, data.test))
    cost = {"seconds": round(time.process_time() - start, 1), "megabytes": _peak()}
    for file, rows in zip(files, (train, test), strict=False):
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, rows)
    return (train, test), cost


def show(dataset: str, name: str, data: Dataset, found: tuple[Floats, ...], seed: int, cost: dict[str, float]) -> None:
    """Print the record of an encoder."""
    categories = nearest_discovered(found[0], data.train.coarse_codes, found[1], data.n_fine, seed)
    scores = {measure: round(value, 2) for measure, value in vars(score(data.test.fine, categories)).items()}
    command = f"benchmarks/quality/encoders.py {dataset}"
    record = {"command": command, "kind": "frozen", "dataset": dataset, "encoder": name, "seed": seed, **scores, **cost}
    print(json.dumps(record | {"texts": len(data.train) + len(data.test)}), flush=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
