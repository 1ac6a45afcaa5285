"""The three filters: compared with slow loops, worked by hand, and checked for their properties."""

from __future__ import annotations

import pytest
import torch
from helpers.planted import unit_tensor
from torch import Tensor

from subtaxa.clustering import filters
from subtaxa.clustering.filters import label_filter, rank_filter, reciprocal_filter
from subtaxa.clustering.neighbours import retrieve, retrieve_within

N, D = 24, 8


def slow_label(indices: Tensor, labels: Tensor) -> list[list[bool]]:
    return [[bool(labels[j] == labels[i]) for j in row] for i, row in enumerate(indices.tolist())]


def slow_reciprocal(indices: Tensor, kept: Tensor) -> list[list[bool]]:
    lists = [
        {j for j, counts in zip(row, mask, strict=True) if counts}
        for row, mask in zip(indices.tolist(), kept.tolist(), strict=True)
    ]
    return [
        [counts and i in lists[j] for j, counts in zip(row, mask, strict=True)]
        for i, (row, mask) in enumerate(zip(indices.tolist(), kept.tolist(), strict=True))
    ]


def largest(row: list[float], m: int) -> frozenset[int]:
    return frozenset(sorted(range(len(row)), key=lambda d: -row[d])[:m])


def slow_rank(queries: Tensor, queue: Tensor, indices: Tensor, m: int) -> list[list[bool]]:
    return [
        [largest(queries[i].tolist(), m) == largest(queue[j].tolist(), m) for j in row]
        for i, row in enumerate(indices.tolist())
    ]


def some_labels(seed: int) -> Tensor:
    return torch.randint(3, (N,), generator=torch.Generator().manual_seed(seed))


def pairs(indices: Tensor, mask: Tensor) -> set[tuple[int, int]]:
    return {(i, int(j)) for i, row in enumerate(indices) for j, kept in zip(row, mask[i], strict=True) if kept}


random_cases = pytest.mark.parametrize(
    ("seed", "k", "duplicates"), [(0, 5, 0), (1, 5, 9), (2, 1, 0), (3, 1, 9), (4, N, 0), (5, N, 9), (6, 12, 3)]
)


@random_cases
def test_label_filter_equals_a_slow_loop(seed: int, k: int, duplicates: int) -> None:
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    assert label_filter(indices, labels).tolist() == slow_label(indices, labels)


@random_cases
def test_reciprocal_filter_equals_a_slow_loop(seed: int, k: int, duplicates: int) -> None:
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    some = torch.rand(indices.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    for kept in (torch.ones_like(some), label_filter(indices, labels), some):
        assert reciprocal_filter(indices, kept).tolist() == slow_reciprocal(indices, kept)


@random_cases
@pytest.mark.parametrize(("room", "block", "parts"), [(0, 1, 1), (0, 1, 5), (N, 1, 1), (N, 60, 1)])
def test_all_implementations_of_the_reciprocal_filter_agree(
    seed: int, k: int, duplicates: int, room: int, block: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a table of all pairs or by sorting, whole or in parts, with or without the labels."""
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    kept = label_filter(indices, labels)
    for name, value in (
        ("TABLE_CELLS_PER_NEIGHBOUR", room),
        ("BLOCK", block),
        ("SORTED_NEIGHBOURS", 1),
        ("MAX_PARTS", parts),
    ):
        monkeypatch.setattr(filters, name, value)
    for known in (labels, None):
        assert reciprocal_filter(indices, kept, known).tolist() == slow_reciprocal(indices, kept)


@random_cases
def test_reciprocal_filter_on_padded_lists(seed: int, k: int, duplicates: int) -> None:
    """`retrieve_within` pads short lists with the text's own index, and `valid` is False there."""
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    found = retrieve_within(rows, rows, labels, k)
    assert reciprocal_filter(found.indices, found.valid).tolist() == slow_reciprocal(found.indices, found.valid)


@random_cases
@pytest.mark.parametrize("m", [1, 2, D])
def test_rank_filter_equals_a_slow_loop(seed: int, k: int, duplicates: int, m: int) -> None:
    queue = unit_tensor(N, D, seed, duplicates=duplicates)
    queries = torch.nn.functional.normalize(queue + 0.2 * unit_tensor(N, D, seed + 100), dim=1)
    indices = retrieve(queries, queue, k).indices
    assert rank_filter(queries, queue, indices, m).tolist() == slow_rank(queries, queue, indices, m)


# Points on a circle at 0°, 10°, 20°, 100°, 104°: with k = 3 the lists are
#   0: 0 1 2    1: 1 0 2 (2 and 0 are equally near)    2: 2 1 0    3: 3 4 2    4: 4 3 2
LISTS = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 4, 2], [4, 3, 2]])
ALL = torch.ones_like(LISTS, dtype=torch.bool)


def test_label_filter_by_hand() -> None:
    labels = torch.tensor([0, 0, 1, 1, 1])
    assert label_filter(LISTS, labels).int().tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_reciprocal_filter_by_hand() -> None:
    """Texts 3 and 4 list text 2, but text 2 lists neither."""
    assert reciprocal_filter(LISTS, ALL).int().tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0]]


def test_reciprocal_filter_after_the_label_filter_by_hand() -> None:
    """Texts 0, 1 and 2 list each other. Text 2 has another label: the label filter leaves only itself in its list."""
    labelled = label_filter(LISTS, torch.tensor([0, 0, 1, 1, 1]))
    after = reciprocal_filter(LISTS, labelled)
    assert after.int().tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert not torch.equal(after, reciprocal_filter(LISTS, ALL))


def test_rank_filter_compares_sets_not_orders() -> None:
    rows = torch.tensor(
        [
            [0.9, 0.8, 0.1, 0.0],  # {0, 1}
            [0.8, 0.9, 0.0, 0.1],  # {0, 1}, in the other order
            [0.9, 0.1, 0.8, 0.0],  # {0, 2}
            [0.1, 0.0, -0.9, -0.8],  # {0, 1}: the largest values, not the largest magnitudes
        ]
    )
    indices = torch.arange(4).repeat(4, 1)
    assert rank_filter(rows, rows, indices, 2).int().tolist() == [
        [1, 1, 0, 1],
        [1, 1, 0, 1],
        [0, 0, 1, 0],
        [1, 1, 0, 1],
    ]
    assert rank_filter(rows, rows, indices, 1).int().tolist() == [
        [1, 0, 1, 1],
        [0, 1, 0, 0],
        [1, 0, 1, 1],
        [1, 0, 1, 1],
    ]


def test_rank_filter_compares_the_query_with_the_neighbours_row_in_the_queue() -> None:
    queries = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    queue = torch.tensor([[0.0, 1.0], [0.0, 1.0]])  # Text 0 has moved.
    assert rank_filter(queries, queue, torch.tensor([[0, 1], [1, 0]]), 1).int().tolist() == [[0, 0], [1, 1]]


def test_lists_without_a_kept_entry_keep_nothing() -> None:
    assert not reciprocal_filter(LISTS, torch.zeros_like(ALL)).any()


@random_cases
def test_label_filter_is_idempotent(seed: int, k: int, duplicates: int) -> None:
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    once = label_filter(indices, labels)
    only_kept = torch.where(once, indices, torch.arange(N)[:, None])  # The text itself replaces removed neighbours.
    assert label_filter(only_kept, labels).all()


@random_cases
def test_reciprocal_pairs_are_symmetric(seed: int, k: int, duplicates: int) -> None:
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    for kept in (torch.ones_like(indices, dtype=torch.bool), label_filter(indices, labels)):
        mutual = pairs(indices, kept & reciprocal_filter(indices, kept))
        assert mutual == {(j, i) for i, j in mutual}


@random_cases
def test_the_reciprocal_filters_of_the_paper_and_of_the_released_code_agree_in_the_end(
    seed: int, k: int, duplicates: int
) -> None:
    """If i and j share a label, the label filter does not change whether j lists i."""
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    labelled = label_filter(indices, labels)
    everything = torch.ones_like(labelled)
    assert torch.equal(
        labelled & reciprocal_filter(indices, labelled), labelled & reciprocal_filter(indices, everything)
    )


@random_cases
def test_a_text_always_keeps_itself(seed: int, k: int, duplicates: int) -> None:
    rows, labels = unit_tensor(N, D, seed, duplicates=duplicates), some_labels(seed)
    indices = retrieve(rows, rows, k).indices
    own = indices == torch.arange(N)[:, None]
    labelled = label_filter(indices, labels)
    kept = labelled & reciprocal_filter(indices, labelled) & rank_filter(rows, rows, indices, 3)
    assert own.sum(1).tolist() == [1] * N
    assert kept[own].all()
