"""Retrieval and filters of ever more rows, and the loss against ever longer queues: time, memory and exactness.

    cd benchmarks && python -m speed.scale retrieval 1000000        one size alone, as a line of JSON

The rows are synthetic: about √N clusters on the sphere of 384 dimensions, 20 labels. Each size runs in a process of its
own, whose memory is looked at from the moment that the rows are there. Time is the processor's, of all cores together,
so that what else the machine does is no matter.

N rows, k neighbours, m largest components, B texts in a batch, D dimensions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
from speed.rows import Row
from torch import Tensor
from torch.nn import functional as F

from subtaxa.bench.peak_memory import Peak
from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter
from subtaxa.clustering.neighbours import LARGE, retrieve, retrieve_within
from subtaxa.training import losses
from subtaxa.training.losses import multi_positive_nce

D, K, M, LABELS, BATCH = 384, 50, 5, 20, 64
JUDGED = 1000  # rows whose neighbours are also sought exactly
QUEUE = 10**6


def clustered(n: int) -> tuple[Tensor, Tensor]:
    """Unit rows (N, D) around about √N random centres, as far from them as the centres' own length, and labels (N,)."""
    generator = torch.Generator().manual_seed(0)
    centres = F.normalize(torch.randn(round(n**0.5), D, generator=generator), dim=1)
    cluster = torch.randint(len(centres), (n,), generator=generator)
    rows = torch.empty(n, D)
    for part, own in zip(rows.split(2**14), cluster.split(2**14), strict=True):
        part.normal_(generator=generator).mul_(D**-0.5).add_(centres[own])
        part.div_(part.norm(dim=1, keepdim=True))
    return rows, cluster % LABELS


def retrieval(n: int, *, within: bool = False) -> dict[str, float]:
    """Neighbours in the whole queue with the three filters, or within the labels with the reciprocal one."""
    rows, labels = clustered(n)
    given = rows.nbytes + n * K * 8  # features and indices
    peak = Peak()
    before = (peak.megabytes() or 0) - rows.nbytes / 2**20  # the program itself
    begun = time.process_time()
    near = retrieve_within(rows, rows, labels, K) if within else retrieve(rows, rows, K)
    kept = near.valid if within else label_filter(near.indices, labels)
    kept = kept & reciprocal_filter(near.indices, kept, labels)
    if not within:
        kept &= rank_filter(rows, rows, near.indices, M)
    seconds, megabytes = time.process_time() - begun, (peak.megabytes() or 0) - before
    recall = 0.0 if within else found_of(rows, near.indices)
    return {"rows": n, "seconds": seconds, "recall": recall, "memory": megabytes * 2**20 / given}


def inside(n: int) -> dict[str, float]:
    return retrieval(n, within=True)


def found_of(rows: Tensor, indices: Tensor) -> float:
    """The share of the true neighbours of some rows that were found."""
    some = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1))[:JUDGED]
    hits = 0
    for part in some.split(16):
        true = (rows[part] @ rows.T).topk(indices.shape[1], dim=1).indices  # (B, k)
        hits += int((indices[part][:, :, None] == true[:, None, :]).sum())
    return hits / (len(some) * indices.shape[1])


def long_queue(n: int) -> dict[str, float]:
    """The loss and its gradient in pieces, against the same from all logits at once, and the memory of either."""
    queue, _ = clustered(n)
    noise = torch.randn(BATCH, D, generator=torch.Generator().manual_seed(2))
    queries = F.normalize(queue[:BATCH] + 0.05 * noise, dim=1)  # (B, D)
    positives, weights = torch.arange(BATCH * K).view(BATCH, K), torch.ones(BATCH, K)

    def work(cells: int) -> tuple[Tensor, Tensor, float, float]:
        losses.CELLS = cells
        peak, leaf = Peak(), queries.clone().requires_grad_()
        before, begun = peak.megabytes() or 0, time.perf_counter()
        value = torch.stack(multi_positive_nce(leaf, queue, positives, weights, 0.07)).sum()
        value.backward()
        spent = time.perf_counter() - begun
        assert leaf.grad is not None
        return value.detach(), leaf.grad, (peak.megabytes() or 0) - before, spent

    usual = losses.CELLS
    pieces, whole = work(usual), work(2**40)
    off = max(float((a - b).abs().max()) for a, b in zip(pieces[:2], whole[:2], strict=True))
    return {"off": off, "megabytes": pieces[2], "at once": whole[2], "seconds": pieces[3]}


def apart(what: str, n: int) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "speed.scale", what, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(done.stdout))


def measure(*, million: bool = False) -> list[Row]:
    """The growth from each size to the next as a power of N, recall and memory."""
    sizes = [10**4, 10**5, *([10**6] if million else [])]
    found = {n: apart("retrieval", n) for n in sizes}
    within = {n: apart("inside", n) for n in sizes}
    rows = []
    for small, large in pairwise(sizes):
        power = torch.tensor(found[large]["seconds"] / found[small]["seconds"]).log10().item()
        spent = f"{found[small]['seconds']:.1f} s and {found[large]['seconds']:.1f} s"
        how = f"retrieval and the three filters, k {K}, D {D}: {spent}, N² would be 2"
        rows.append(Row(f"growth from {small:,} to {large:,} rows", power, 1.6, False, how, "as a power of N"))
    for n in sizes[1:]:  # with fewer rows it is the block of similarities that takes the memory
        how = f"approximate above {LARGE:,}; against an exact search for {JUDGED:,} of them"
        rows.append(Row(f"recall at {n:,} rows", found[n]["recall"], 0.95, True, how, ""))
        for what, memory in (("", found[n]["memory"]), (", within labels", within[n]["memory"])):
            rows.append(Row(f"memory at {n:,} rows{what}", memory, 1.5, False, "of features and indices together"))
    loss = apart("long_queue", QUEUE)
    how = f"B {BATCH}, {QUEUE:,} rows, value and gradient, {loss['seconds']:.1f} s"
    size = f"beyond the queue; with all logits at once {loss['at once']:.0f} MB"
    return [
        *rows,
        Row("the loss in pieces, off by", loss["off"], 1e-4, False, how, ""),
        Row("its memory", loss["megabytes"], 512, False, size, "MB"),
    ]


if __name__ == "__main__":
    work = {"retrieval": retrieval, "inside": inside, "long_queue": long_queue}[sys.argv[1]]
    print(json.dumps(work(int(sys.argv[2]))))
