"""Compare the memory that a fit is estimated to need with what it takes.

    python benchmarks/speed/memory.py --data ../shared/data --dataset hwu64 >> research/measurements/memory.jsonl

The program fits the built-in example, or the training texts of a data set, with the default settings but one epoch. It
prints one JSON record, in MB: the resident size of the process when the estimate is made, the estimate of what the fit
will add to it, and the largest resident size at the end.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from unittest import mock

import psutil

from subtaxa import Discovery, fitting
from subtaxa.bench.datasets import DATASETS, load
from subtaxa.data.example import example_texts
from subtaxa.runtime.progress import Progress
from subtaxa.training.memory_budget import Sizes, fit_into_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the authors' files (default: the built-in example)")
    parser.add_argument("--dataset", choices=DATASETS)
    given = parser.parse_args()
    texts, labels = (data := example_texts()).texts, data.labels
    if given.dataset:
        part = load(given.dataset, given.data).train
        texts, labels = part.texts, part.coarse
    record = {"command": f"benchmarks/speed/memory.py {given.dataset or 'example'}", "texts": len(texts)}

    def estimate(sizes: Sizes, progress: Progress) -> Sizes:
        record["before_mb"] = round(psutil.Process().memory_info().rss / 2**20)
        record["estimated_mb"] = round(sizes.required_bytes / 2**20)
        return fit_into_memory(sizes, progress)

    with mock.patch.object(fitting, "fit_into_memory", estimate):
        Discovery(epochs=1).fit(list(texts), list(labels))
    record["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
