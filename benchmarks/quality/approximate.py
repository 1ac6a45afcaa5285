"""Our search among cells beside FAISS's inverted file and HNSW graph: processor seconds, recall and memory.

    pip install faiss-cpu && python benchmarks/approximate.py ours        (or ivf, hnsw; --rows 100000)

One JSON record. subtaxa itself does not need FAISS: this is why.
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from speed.scale import JUDGED, D, K, clustered, found_of
from torch import Tensor

from subtaxa.bench.peak_memory import Peak
from subtaxa.clustering.neighbours import CELLS, retrieve

PROBES = 32  # cells that each query looks into
LINKS, EFFORT = 32, 64  # of HNSW


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("which", choices=("ours", "ivf", "hnsw"))
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    rows, _ = clustered(given.rows)
    peak = Peak()
    before = peak.megabytes() or 0
    begun = time.process_time()
    indices = retrieve(rows, rows, K).indices if given.which == "ours" else by_faiss(rows, given.which)
    record = {
        "which": given.which,
        "rows": given.rows,
        "k": K,
        "processor_seconds": round(time.process_time() - begun, 1),
        "recall": round(found_of(rows, indices), 4),
        "judged": JUDGED,
        "megabytes_beyond_the_features": (peak.megabytes() or 0) - before,
    }
    print(json.dumps(record))


def by_faiss(rows: Tensor, which: str) -> Tensor:
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    table = rows.numpy()
    if which == "ivf":
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(D), D, round(CELLS * len(rows) ** 0.5), faiss.METRIC_INNER_PRODUCT)
        index.cp.niter = 5
        index.train(table)
        index.nprobe = PROBES
    else:
        index = faiss.IndexHNSWFlat(D, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efSearch = EFFORT
    index.add(table)
    return torch.from_numpy(index.search(table, K)[1])


if __name__ == "__main__":
    main()
