r"""Measure how much a result depends on the rounding of the processor and on the number of threads.

    python benchmarks/quality/rounding.py >> research/measurements/rounding.jsonl

The program runs `subtaxa discover` and `subtaxa recut --categories K` as real processes, once for each kind of
processor in `PROCESSORS` and each number of threads. Variables of the environment make the libraries compute as on that
processor. It prints one JSON record: the adjusted Rand indices (ARI) of each pair of runs, for the categories that
`discover` finds and for those of `recut`, which have the same number in all runs. No fine labels are used.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from common import column, run, write_csv
from joblib import cpu_count
from sklearn.metrics import adjusted_rand_score

from subtaxa.bench.datasets import DATASETS, load
from subtaxa.data.example import FOLDER

# What the libraries compute with: OpenBLAS for NumPy and SciPy, ATen, MKL and oneDNN for torch. What is not named is
# as on the machine at hand. `avx` trains three times more slowly.
PROCESSORS = {
    "avx2": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"},
    "avx2-mkl": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
    "avx": {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "AVX",
        "ONEDNN_MAX_CPU_ISA": "AVX",
    },
    "sse3": {"OPENBLAS_CORETYPE": "Prescott", "ATEN_CPU_CAPABILITY": "default"},
}
THREADS = ("1", "2")


def discover(discovered: list[str], out: Path, categories: str, environment: dict[str, str]) -> tuple[dict, dict]:
    """One run in an environment: a part of the record, and the categories of all texts before and after `recut`.

    Both are kept next to the run folder, and read from there if they exist. A run that was stopped is continued.
    """
    finished = out.with_suffix(".json")
    if finished.exists():
        return tuple(json.loads(finished.read_text()))
    kept = dict(os.environ)
    os.environ.update(environment)
    try:
        run("discover", *discovered, "--out", str(out), "--quiet", *(["--resume"] if out.exists() else []))
        found = {"found": column(out / "assignments.csv", "category_id")}
        run("recut", str(out), "--categories", categories, "--quiet")
    finally:
        os.environ.clear()
        os.environ.update(kept)
    found["given"] = column(out / "assignments.csv", "category_id")
    record = {"categories": len(set(found["found"]))}
    finished.write_text(json.dumps([record, found]))
    return record, found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the authors' files (default: the built-in example)")
    parser.add_argument("--dataset", choices=DATASETS)
    parser.add_argument("--categories", default="50", help="the number of categories of `recut` (default: 50)")
    parser.add_argument("--preset", default="default", help="the preset of `discover` (default: default)")
    parser.add_argument("--processors", nargs="+", choices=PROCESSORS, default=list(PROCESSORS))
    parser.add_argument("--threads", nargs="+", choices=THREADS, default=list(THREADS))
    parser.add_argument("--out", type=Path, help="keep the runs here, and use or continue those that are here")
    given = parser.parse_args()
    runs, found = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = given.out or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        texts = [str(FOLDER / "support.csv"), "--text", "message", "--label", "department"]
        if given.dataset:
            part = load(given.dataset, given.data).train
            texts = [write_csv(folder / "texts.csv", ["text", "label"], zip(part.texts, part.coarse, strict=True))]
        for threads, processor in itertools.product(given.threads, given.processors):
            environment = PROCESSORS[processor] | {"OMP_NUM_THREADS": threads}
            key = f"{processor}, threads: {threads}"
            out, arguments = folder / f"{processor}-{threads}", [*texts, "--preset", given.preset]
            runs[key], found[key] = discover(arguments, out, given.categories, environment)
            print(time.strftime("%H:%M:%S"), key, runs[key], flush=True, file=sys.stderr)
    pairs = list(itertools.combinations(found, 2))
    agreement = {
        kind: {f"{a} | {b}": round(adjusted_rand_score(found[a][kind], found[b][kind]), 4) for a, b in pairs}
        for kind in ("found", "given")
    }
    data = f" --dataset {given.dataset}" if given.dataset else ""
    record = {
        "command": f"benchmarks/quality/rounding.py{data} --preset {given.preset} --categories {given.categories}",
        "runs": runs,
        "ari": agreement,
        "least_ari_at_a_given_number": min(agreement["given"].values(), default=None),
        "cores": cpu_count(),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
