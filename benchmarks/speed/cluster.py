"""Measure the claims about several processes with two processes on this machine.

    python benchmarks/speed/cluster.py plan                 bytes, seconds and memory, next to the formulas
    python benchmarks/speed/cluster.py assign RUN           rows per second of two Ray workers and of one

Both print JSON lines. The bytes are counted on the loopback device, so no other process may use it. On Linux,
`unshare --net --map-root-user sh -c 'ip link set lo up && python benchmarks/speed/cluster.py plan'` makes sure of that.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pandas as pd
import psutil
import torch
from torch import distributed as dist
from torch import multiprocessing

from subtaxa.bench.peak_memory import PeakMemory
from subtaxa.clustering.filters import reciprocal_filter
from subtaxa.clustering.neighbours import retrieve_within
from subtaxa.runtime import processes

# Dimensions, neighbours, lexical dimensions, labels, and weights of the packaged encoder.
D, K, WORDS, LABELS, WEIGHTS = 384, 100, 96, 10, 22_713_216
EXAMPLE = files("subtaxa") / "data" / "example" / "support.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("plan", "assign"))
    parser.add_argument("run", nargs="?", type=Path, help="run folder of the built-in example, for assign")
    parser.add_argument(
        "--copies", type=int, default=6, help="copies of the example to assign with one and with two workers"
    )
    given = parser.parse_args()
    if given.what == "plan":
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"  # glibc then returns freed memory at once.
        multiprocessing.spawn(plan, nprocs=2)
    else:
        assign(given.run, given.copies)


def plan(rank: int) -> None:
    """Runs in each of two processes: what a step sends, and the memory of an epoch's retrieval."""
    environment = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29611"}
    os.environ.update(environment)
    torch.set_num_threads(1)
    with processes.group():
        for batch in (64, 512):
            rows, index = torch.randn(batch // 2, D), torch.arange(batch // 2)
            gathered = [torch.empty_like(rows) for _ in range(2)], [torch.empty_like(index) for _ in range(2)]

            def gather(rows=rows, index=index, gathered=gathered) -> None:  # type: ignore[no-untyped-def]
                dist.all_gather(gathered[0], rows)
                dist.all_gather(gathered[1], index)

            report(rank, "keys gathered", timed(gather, 100), batch=batch, formula_bytes=batch * (4 * D + 8) // 2)
        gradients = torch.randn(WEIGHTS)
        report(rank, "gradients", timed(lambda: dist.all_reduce(gradients), 5), formula_bytes=4 * WEIGHTS)
        few, many = 10_000, 30_000
        more = [(b - a) / (many - few) for a, b in zip(memory(few), memory(many), strict=True)]
        report(
            rank,
            "bytes per text",
            {"held": round(more[0]), "peak": round(more[1])},
            formula_held=8 * D + 4 * WORDS + 12 * K,
        )


def timed(work: Callable[[], None], times: int) -> dict[str, float]:
    """The median seconds of some work in both processes, and the bytes that each process received."""
    work()
    dist.barrier()
    before, spent = psutil.net_io_counters(pernic=True)["lo"].bytes_recv, []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    dist.barrier()
    received = psutil.net_io_counters(pernic=True)["lo"].bytes_recv - before
    return {"seconds": round(statistics.median(spent), 5), "bytes": received // times // 2}


def memory(texts: int) -> tuple[int, int]:
    """Bytes that the default method holds between epochs, and at the peak of its retrieval."""
    gc.collect()
    peak = PeakMemory()
    queue = torch.nn.functional.normalize(torch.randn(texts, D), dim=1)
    untrained, words = queue.clone(), torch.nn.functional.normalize(torch.randn(texts, WORDS), dim=1)
    found = retrieve_within(*2 * [torch.cat([queue, words], dim=1)], torch.arange(texts) % LABELS, K)
    kept = reciprocal_filter(found.indices, found.valid)
    positives, weights = found.indices, kept.float()
    del found, kept
    gc.collect()
    held = psutil.Process().memory_info().rss
    assert (
        len(queue) == len(untrained) == len(words) == len(positives) == len(weights)
    )  # All of them are still in memory.
    return held, (peak.megabytes() or 0) * 2**20


def report(rank: int, what: str, found: dict[str, float], **more: float) -> None:
    if rank == 0:
        print(json.dumps({"what": what, **found, **more}), flush=True)


def assign(run: Path, copies: int) -> None:
    """Rows per second, counted from the moment when every worker has returned a result."""
    from subtaxa.engines import ray_assign
    from subtaxa.engines.ray_start import connected

    ray_assign.PARTITION_ROWS = size = 250
    rates = {}
    with tempfile.TemporaryDirectory() as folder, connected(None, 2):
        rows = pd.concat([pd.read_csv(EXAMPLE)[["message"]]] * copies, ignore_index=True)
        rows.to_parquet(Path(folder) / "corpus.parquet", row_group_size=size)
        for workers in (1, 2):
            engine = ray_assign.RayAssign(workers)
            left = ray_assign.plan(f"{folder}/corpus.parquet", Path(folder) / str(workers), "message", None)
            done, times = [], []
            for result in engine._results(left, run, "message", None):
                done.append(result["rows"])
                times.append(time.perf_counter())
            assert sum(done) == len(rows)
            rates[workers] = sum(done[workers:]) / (times[-1] - times[workers - 1])
            print(json.dumps({"workers": workers, "rows": len(rows), "rows_per_second": round(rates[workers], 1)}))
    load = os.getloadavg()[0]
    print(json.dumps({"ratio": round(rates[2] / rates[1], 2), "target": 1.6, "load": round(load, 1)}))


if __name__ == "__main__":
    sys.exit(main())
