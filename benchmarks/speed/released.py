"""Compare our array code with the algorithm as it was released: Python loops, and a (B, N, D) tensor in the loss.

N texts, k neighbours, m largest components, B texts in a batch, D dimensions.
"""

from __future__ import annotations

import torch
from measurement import Measurement, megabytes, times_faster
from torch import Tensor

from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter
from subtaxa.clustering.neighbours import retrieve
from subtaxa.training.losses import multi_positive_nce

K, M, BATCH, TEMPERATURE = 120, 5, 128, 0.07


def slow_filters(queries: Tensor, queue: Tensor, indices: Tensor, labels: Tensor, m: int) -> Tensor:
    """The three filters as the paper describes them, one pair at a time."""
    lists, named = indices.tolist(), labels.tolist()
    same_label = [[j for j in row if named[j] == named[i]] for i, row in enumerate(lists)]
    of_queries = [set(row) for row in queries.topk(m, dim=1).indices.tolist()]
    of_queue = [set(row) for row in queue.topk(m, dim=1).indices.tolist()]
    kept = torch.zeros_like(indices, dtype=torch.bool)
    for i, row in enumerate(lists):
        for column, j in enumerate(row):
            if named[j] == named[i] and i in same_label[j]:
                kept[i, column] = j == i or of_queries[i] == of_queue[j]
    return kept


def our_filters(queries: Tensor, queue: Tensor, indices: Tensor, labels: Tensor, m: int) -> Tensor:
    kept = label_filter(indices, labels)
    kept = kept & reciprocal_filter(indices, kept, labels)
    own = indices == torch.arange(len(indices))[:, None]
    return kept & (rank_filter(queries, queue, indices, m) | own)


def slow_loss(queries: Tensor, queue: Tensor, positives: Tensor, weights: Tensor) -> Tensor:
    """The loss with every product of a query and a row of the queue written out."""
    logits = (queries[:, None, :] * queue[None, :, :]).sum(-1) / TEMPERATURE  # (B, N, D) -> (B, N)
    log_probability = logits - logits.exp().sum(1, keepdim=True).log()
    return -((log_probability.gather(1, positives) * weights).sum(1) / weights.sum(1)).mean()


def our_loss(queries: Tensor, queue: Tensor, positives: Tensor, weights: Tensor) -> Tensor:
    return torch.stack(multi_positive_nce(queries, queue, positives, weights, TEMPERATURE)).sum()


def measure(features: Tensor, labels: Tensor) -> list[Measurement]:
    """Filters and loss on real features (N, D) with real labels (N,)."""
    noise = torch.randn(features.shape, generator=torch.Generator().manual_seed(0))
    queries = torch.nn.functional.normalize(features + 0.01 * noise, dim=1)  # The queue lags behind a little.
    indices = retrieve(queries, features, K).indices
    slow, ours = (work(queries, features, indices, labels, M) for work in (slow_filters, our_filters))
    assert torch.equal(slow, ours)
    # The rank filter is used in the first epoch, where the queries equal the rows of the queue.
    first = features, features, retrieve(features, features, K).indices, labels, M
    assert torch.equal(slow_filters(*first), our_filters(*first))
    filters = times_faster(lambda: slow_filters(*first), lambda: our_filters(*first))

    positives, weights = indices[:BATCH], ours[:BATCH].float()

    def forward_and_backward(loss: object) -> tuple[Tensor, Tensor]:
        batch = queries[:BATCH].clone().requires_grad_()
        value = loss(batch, features, positives, weights)  # type: ignore[operator]
        value.backward()
        return value.detach(), batch.grad  # type: ignore[return-value]

    for a, b in zip(forward_and_backward(slow_loss), forward_and_backward(our_loss), strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    faster = times_faster(lambda: forward_and_backward(slow_loss), lambda: forward_and_backward(our_loss))
    smaller = megabytes(lambda: forward_and_backward(our_loss)) / megabytes(lambda: forward_and_backward(slow_loss))
    n, d = features.shape
    return [
        Measurement(
            "the three filters, relative to loops",
            filters,
            150,
            True,
            f"N {n:,}, k {K}, m {M}; the same neighbours are kept",
        ),
        Measurement(
            "loss and gradient, relative to (B, N, D)", faster, 60, True, f"B {BATCH}, N {n:,}, D {d}; equal to 1e-5"
        ),
        Measurement(
            "memory of the loss, relative to (B, N, D)", smaller, 1 / 50, False, "peak beyond what was held before"
        ),
    ]
