"""Measure retrieval and filters on more and more rows, and the loss against longer and longer queues.

    python benchmarks/speed/scale.py retrieval 1000000        one size alone, as a line of JSON

The rows are synthetic: about √N clusters on the sphere in 384 dimensions, 20 labels. Each size runs in a process of its
own, whose memory is measured from the moment when the rows exist. Time is processor time of all cores together, so that
other processes do not matter.

N rows, k neighbours, m largest components, B texts in a batch, D dimensions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
from measurement import Measurement
from torch import Tensor
from torch.nn import functional as F

from subtaxa.bench.peak_memory import PeakMemory
from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter
from subtaxa.clustering.neighbours import EXACT_ROWS, retrieve, retrieve_within
from subtaxa.training import losses
from subtaxa.training.losses import multi_positive_nce

D, K, M, LABELS, BATCH = 384, 50, 5, 20, 64
# Rows whose neighbours are also searched exactly, to measure the recall.
CHECKED = 1000
QUEUE = 10**6


def clustered(n: int) -> tuple[Tensor, Tensor]:
    """Unit rows (N, D) around about √N random centres, with noise as long as the centres, and labels (N,)."""
    generator = torch.Generator().manual_seed(0)
    centres = F.normalize(torch.randn(round(n**0.5), D, generator=generator), dim=1)
    cluster = torch.randint(len(centres), (n,), generator=generator)
    rows = torch.empty(n, D)
    for part, own in zip(rows.split(2**14), cluster.split(2**14), strict=True):
        part.normal_(generator=generator).mul_(D**-0.5).add_(centres[own])
        part.div_(part.norm(dim=1, keepdim=True))
    return rows, cluster % LABELS


def retrieval(n: int, *, within: bool = False) -> dict[str, float]:
    """Neighbours in the whole queue with the three filters, or within labels with the reciprocal filter."""
    rows, labels = clustered(n)
    size = rows.nbytes + n * K * 8  # Features and indices.
    peak = PeakMemory()
    before = (peak.megabytes() or 0) - rows.nbytes / 2**20  # What the program itself holds.
    start = time.process_time()
    near = retrieve_within(rows, rows, labels, K) if within else retrieve(rows, rows, K)
    kept = near.valid if within else label_filter(near.indices, labels)
    kept = kept & reciprocal_filter(near.indices, kept, labels)
    if not within:
        kept &= rank_filter(rows, rows, near.indices, M)
    seconds, megabytes = time.process_time() - start, (peak.megabytes() or 0) - before
    found = 0.0 if within else recall(rows, near.indices)
    return {"rows": n, "seconds": seconds, "recall": found, "memory": megabytes * 2**20 / size}


def within_labels(n: int) -> dict[str, float]:
    return retrieval(n, within=True)


def recall(rows: Tensor, indices: Tensor) -> float:
    """The share of the true neighbours of some rows that were found."""
    some = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1))[:CHECKED]
    hits = 0
    for part in some.split(16):
        true = (rows[part] @ rows.T).topk(indices.shape[1], dim=1).indices  # (B, k)
        hits += int((indices[part][:, :, None] == true[:, None, :]).sum())
    return hits / (len(some) * indices.shape[1])


def long_queue(n: int) -> dict[str, float]:
    """The loss and its gradient in chunks and from all logits at once: their difference and the memory of each."""
    queue, _ = clustered(n)
    noise = torch.randn(BATCH, D, generator=torch.Generator().manual_seed(2))
    queries = F.normalize(queue[:BATCH] + 0.05 * noise, dim=1)  # (B, D)
    positives, weights = torch.arange(BATCH * K).view(BATCH, K), torch.ones(BATCH, K)

    def work(cells: int) -> tuple[Tensor, Tensor, float, float]:
        losses.CELLS = cells
        peak, leaf = PeakMemory(), queries.clone().requires_grad_()
        before, start = peak.megabytes() or 0, time.perf_counter()
        value = torch.stack(multi_positive_nce(leaf, queue, positives, weights, 0.07)).sum()
        value.backward()
        spent = time.perf_counter() - start
        assert leaf.grad is not None
        return value.detach(), leaf.grad, (peak.megabytes() or 0) - before, spent

    usual = losses.CELLS
    chunked, whole = work(usual), work(2**40)
    difference = max(float((a - b).abs().max()) for a, b in zip(chunked[:2], whole[:2], strict=True))
    return {"difference": difference, "megabytes": chunked[2], "at once": whole[2], "seconds": chunked[3]}


def in_process(what: str, n: int) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), what, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def measure(*, million: bool = False) -> list[Measurement]:
    """The growth from each size to the next as a power of N, the recall and the memory."""
    sizes = [10**4, 10**5, *([10**6] if million else [])]
    found = {n: in_process("retrieval", n) for n in sizes}
    within = {n: in_process("within_labels", n) for n in sizes}
    rows = []
    for small, large in pairwise(sizes):
        power = torch.tensor(found[large]["seconds"] / found[small]["seconds"]).log10().item()
        spent = f"{found[small]['seconds']:.1f} s and {found[large]['seconds']:.1f} s"
        how = f"retrieval and the three filters, k {K}, D {D}: {spent}, 2 would be quadratic"
        rows.append(Measurement(f"growth from {small:,} to {large:,} rows", power, 1.6, False, how, "as a power of N"))
    for n in sizes[1:]:  # At the smallest size, the block of similarities takes most of the memory.
        how = f"approximate above {EXACT_ROWS:,}; compared with an exact search for {CHECKED:,} rows"
        rows.append(Measurement(f"recall at {n:,} rows", found[n]["recall"], 0.95, True, how, ""))
        for what, memory in (("", found[n]["memory"]), (", within labels", within[n]["memory"])):
            rows.append(
                Measurement(
                    f"memory at {n:,} rows{what}", memory, 1.5, False, "relative to features and indices together"
                )
            )
    loss = in_process("long_queue", QUEUE)
    how = f"B {BATCH}, {QUEUE:,} rows, value and gradient, {loss['seconds']:.1f} s"
    size = f"beyond the queue; {loss['at once']:.0f} MB with all logits at once"
    return [
        *rows,
        Measurement("difference of the chunked loss", loss["difference"], 1e-4, False, how, ""),
        Measurement("memory of the chunked loss", loss["megabytes"], 512, False, size, "MB"),
    ]


def main() -> None:
    works = {"retrieval": retrieval, "within_labels": within_labels, "long_queue": long_queue}
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=works)
    parser.add_argument("rows", type=int)
    given = parser.parse_args()
    print(json.dumps(works[given.what](given.rows)))


if __name__ == "__main__":
    main()
