"""Compare our approximate search with FAISS's inverted file and HNSW graph: processor seconds, recall and memory.

    pip install faiss-cpu && python benchmarks/speed/approximate.py ours        (or ivf, hnsw; --rows 100000)

The program prints one JSON record. Its result is the reason why subtaxa does not depend on FAISS.
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from scale import CHECKED, D, K, clustered, recall
from torch import Tensor

from subtaxa.bench.peak_memory import PeakMemory
from subtaxa.clustering.neighbours import CELLS, retrieve

# Cells of the inverted file that each query searches.
PROBES = 32
# Links per node of the HNSW graph, and the length of its list of candidates.
LINKS, CANDIDATES = 32, 64


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("which", choices=("ours", "ivf", "hnsw"))
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    rows, _ = clustered(given.rows)
    peak = PeakMemory()
    before = peak.megabytes() or 0
    start = time.process_time()
    indices = retrieve(rows, rows, K).indices if given.which == "ours" else by_faiss(rows, given.which)
    record = {
        "which": given.which,
        "rows": given.rows,
        "k": K,
        "processor_seconds": round(time.process_time() - start, 1),
        "recall": round(recall(rows, indices), 4),
        "rows_checked": CHECKED,
        "megabytes_beyond_the_features": (peak.megabytes() or 0) - before,
    }
    print(json.dumps(record))


def by_faiss(rows: Tensor, which: str) -> Tensor:
    """The indices (N, k) that a FAISS index finds."""
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
        index.hnsw.efSearch = CANDIDATES
    index.add(table)
    return torch.from_numpy(index.search(table, K)[1])


if __name__ == "__main__":
    main()
