"""The rings against a slow reference of one deque per class."""

from __future__ import annotations

from collections import Counter, deque

import pytest
import torch
from helpers.planted import unit_tensor

from subtaxa.training.class_queue import ClassQueue, ranks_within, sample_within, scores_within

C, Q, D = 4, 5, 3
CPU = torch.device("cpu")


def held(queue: ClassQueue, label: int) -> list[list[float]]:
    """The content of a class's ring, in any order."""
    return sorted(queue.rows[label][queue.filled[label]].tolist())


@pytest.mark.parametrize("batch", [1, 2, 7, 40])  # 40 texts of 4 classes are more than fit into the rings.
@pytest.mark.parametrize("classes", [1, C])
def test_rings_are_deques(batch: int, classes: int) -> None:
    rng = torch.Generator().manual_seed(batch)
    queue, slow = ClassQueue(C, Q, D, CPU), [deque[list[float]](maxlen=Q) for _ in range(C)]
    for step in range(12):
        labels = torch.randint(classes, (batch,), generator=rng)
        features = unit_tensor(batch, D, seed=100 * batch + step)
        queue.write(labels, features)
        for label, row in zip(labels.tolist(), features.tolist(), strict=True):
            slow[label].append(row)
        assert [held(queue, c) for c in range(C)] == [sorted(ring) for ring in slow]


def test_the_oldest_row_goes_first() -> None:
    queue = ClassQueue(2, 3, 1, CPU)
    queue.write(torch.tensor([1, 1, 0, 1]), torch.tensor([[1.0], [2.0], [9.0], [3.0]]))
    queue.write(torch.tensor([1]), torch.tensor([[4.0]]))
    assert queue.rows[1].flatten().tolist() == [4.0, 2.0, 3.0]
    assert queue.filled.tolist() == [[True, False, False], [True, True, True]]
    queue.write(torch.tensor([1] * 7), torch.arange(10.0, 17.0)[:, None])
    assert sorted(queue.rows[1].flatten().tolist()) == [14.0, 15.0, 16.0]
    assert queue.rows[0].flatten().tolist() == [9.0, 0.0, 0.0]


def test_queue_keeps_no_gradient() -> None:
    queue, features = ClassQueue(C, Q, D, CPU), unit_tensor(3, D).requires_grad_()
    queue.write(torch.tensor([0, 0, 2]), features * 2)
    assert not queue.rows.requires_grad


def test_a_loaded_queue_goes_on_where_the_other_was() -> None:
    first, second = ClassQueue(C, Q, D, CPU), ClassQueue(C, Q, D, CPU)
    first.write(torch.tensor([0, 0, 2, 0, 0, 0, 0]), unit_tensor(7, D, 1))
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    for queue in (first, second):
        queue.write(torch.tensor([0, 2, 3]), unit_tensor(3, D, 2))
    assert torch.equal(first.rows, second.rows)
    assert torch.equal(first.filled, second.filled)


def test_rings_are_never_longer_than_the_largest_class() -> None:
    labels = torch.tensor([0, 2, 2, 2, 0])
    assert ClassQueue.for_labels(labels, 4, 64, D).rows.shape == (4, 3, D)
    assert ClassQueue.for_labels(labels, 4, 2, D).rows.shape == (4, 2, D)


def test_scores_are_those_of_the_own_class_only() -> None:
    queue = ClassQueue(C, Q, D, CPU)
    queue.write(torch.tensor([0, 0, 1]), unit_tensor(3, D, 1))
    queries, labels = unit_tensor(3, D, 2), torch.tensor([1, 0, 3])
    scores = scores_within(queries, labels, queue.rows, queue.filled)
    expected = torch.full((3, Q), -torch.inf)
    for i, label in enumerate(labels.tolist()):
        for j in range(Q):
            if queue.filled[label, j]:
                expected[i, j] = queries[i] @ queue.rows[label, j]
    torch.testing.assert_close(scores, expected)
    assert scores.isfinite().sum(1).tolist() == [1, 2, 0]


def test_ranks_count_the_earlier_texts_of_the_same_label() -> None:
    labels = torch.randint(5, (50,), generator=torch.Generator().manual_seed(0))
    seen: Counter[int] = Counter()
    expected = []
    for label in labels.tolist():
        expected.append(seen[label])
        seen[label] += 1
    assert ranks_within(labels).tolist() == expected
    assert ranks_within(labels[:0]).tolist() == []


def test_a_sample_has_as_many_of_each_class_as_there_are_up_to_the_size() -> None:
    labels = torch.tensor([3] * 20 + [0] * 2 + [1])
    torch.manual_seed(0)
    first, second = sample_within(labels, 4), sample_within(labels, 4)
    assert Counter(labels[first].tolist()) == {3: 4, 0: 2, 1: 1}
    assert len(set(first.tolist())) == len(first)
    assert set(first.tolist()) != set(second.tolist())
