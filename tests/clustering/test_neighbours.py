"""Retrieval: compared with a full sort, within labels, in blocks, and with more duplicates than neighbours."""

from __future__ import annotations

import pytest
import torch
from helpers.planted import LargestTensor, unit_tensor
from torch import Tensor

from subtaxa.clustering import neighbours
from subtaxa.clustering.neighbours import retrieve, retrieve_within


def sorted_neighbours(queries: Tensor, queue: Tensor, k: int) -> Tensor:
    """All rows sorted by similarity, each text's own row first."""
    similarity = queries @ queue.T
    similarity.fill_diagonal_(2.0)
    return similarity.argsort(dim=1, descending=True, stable=True)[:, :k]


def same_neighbours(found: Tensor, expected: Tensor, queries: Tensor, queue: Tensor) -> bool:
    """Whether two lists (N, k) have the same rows. Rows whose similarities differ only by rounding may be swapped."""
    similarity = (queries.double() @ queue.double().T).fill_diagonal_(2.0)
    distinct = all(len(set(row)) == len(row) for row in found.tolist())
    return distinct and torch.allclose(similarity.gather(1, found), similarity.gather(1, expected), rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_retrieve_equals_the_first_k_of_a_full_sort(seed: int, k: int) -> None:
    queue = unit_tensor(40, 8, seed)
    found = retrieve(queue, queue, k)
    assert same_neighbours(found.indices, sorted_neighbours(queue, queue, k), queue, queue)
    assert found.valid.all()
    assert found.valid.shape == (40, k)
    assert found.indices.shape[1] == k


def test_queries_may_differ_from_the_queue() -> None:
    queries, queue = unit_tensor(30, 8, 1), unit_tensor(30, 8, 2)
    assert same_neighbours(retrieve(queries, queue, 5).indices, sorted_neighbours(queries, queue, 5), queries, queue)


def test_hand_worked_order() -> None:
    """The texts are at 0°, 10°, 25° and 90° on a circle."""
    angles = torch.deg2rad(torch.tensor([0.0, 10.0, 25.0, 90.0]))
    rows = torch.stack([angles.cos(), angles.sin()], dim=1)
    assert retrieve(rows, rows, 3).indices.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]]


def test_a_large_k_retrieves_the_whole_queue() -> None:
    queue = unit_tensor(6, 4)
    found = retrieve(queue, queue, 100)
    assert found.indices.shape[1] == 6
    assert found.indices.sort(dim=1).values.tolist() == [list(range(6))] * 6


@pytest.mark.parametrize("k", [1, 3, 9])
def test_the_own_row_is_first_even_among_more_than_k_duplicates(k: int) -> None:
    queue = unit_tensor(30, 8, duplicates=20)
    own = torch.arange(30)
    assert torch.equal(retrieve(queue, queue, k).indices[:, 0], own)
    assert torch.equal(retrieve_within(queue, queue, torch.arange(30) % 2, k).indices[:, 0], own)


def test_the_own_row_is_first_even_if_the_momentum_encoder_moved_it_far_away() -> None:
    queue = unit_tensor(20, 8)
    assert torch.equal(retrieve(-queue, queue, 3).indices[:, 0], torch.arange(20))


@pytest.mark.parametrize("cells", [1, 50, 51, 333])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    queue = unit_tensor(50, 8)
    labels = torch.arange(50) % 3
    whole, within = retrieve(queue, queue, 7), retrieve_within(queue, queue, labels, 7)
    monkeypatch.setattr(neighbours, "BLOCK_CELLS", cells)
    assert same_neighbours(retrieve(queue, queue, 7).indices, whole.indices, queue, queue)
    assert same_neighbours(retrieve_within(queue, queue, labels, 7).indices, within.indices, queue, queue)


def test_the_whole_matrix_of_similarities_is_never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_CELLS", 2000)
    queue = unit_tensor(200, 8)
    for find in (lambda: retrieve(queue, queue, 3), lambda: retrieve_within(queue, queue, torch.arange(200) % 2, 3)):
        with LargestTensor() as watched:
            find()
        assert 0 < watched.cells <= 2000


@pytest.mark.parametrize("seed", range(3))
def test_retrieve_within_equals_retrieve_on_each_label(seed: int) -> None:
    queries, queue = unit_tensor(40, 8, seed), unit_tensor(40, 8, seed + 10)
    labels = torch.randint(4, (40,), generator=torch.Generator().manual_seed(seed))
    found = retrieve_within(queries, queue, labels, 6)
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)
        alone = retrieve(queries[members], queue[members], 6)
        inside = found.indices[members, : alone.indices.shape[1]]
        assert same_neighbours(torch.searchsorted(members, inside), alone.indices, queries[members], queue[members])


def test_retrieve_within_stays_in_the_label_and_marks_missing_neighbours() -> None:
    sizes = [1, 3, 5, 20]
    labels = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
    labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]
    queue = unit_tensor(len(labels), 8)
    found = retrieve_within(queue, queue, labels, 5)
    assert (labels[found.indices] == labels[:, None]).all()
    expected = torch.arange(5) < torch.tensor(sizes)[labels][:, None]
    assert torch.equal(found.valid, expected)
    for row, valid in zip(found.indices.tolist(), found.valid.tolist(), strict=True):
        real = [j for j, v in zip(row, valid, strict=True) if v]
        assert len(set(real)) == len(real), "a neighbour is listed twice"


def test_retrieve_within_limits_k_to_the_largest_label() -> None:
    queue = unit_tensor(9, 4)
    assert retrieve_within(queue, queue, torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1]), 100).indices.shape[1] == 5


@pytest.mark.parametrize("exact_rows", [10, 1000])
@pytest.mark.parametrize("k", [1, 3, 25, 60])
def test_copies_are_found_as_by_a_full_sort(monkeypatch: pytest.MonkeyPatch, k: int, exact_rows: int) -> None:
    """60 texts, of which 12 are distinct: some occur once, one 20 times."""
    monkeypatch.setattr(neighbours, "EXACT_ROWS", exact_rows)
    monkeypatch.setattr(neighbours, "BLOCK_CELLS", 300)
    kind = torch.cat([torch.arange(12), torch.zeros(19, dtype=torch.int64), torch.arange(29) % 7])
    kind = kind[torch.randperm(60, generator=torch.Generator().manual_seed(0))]
    queries, queue = unit_tensor(12, 8, 1)[kind], unit_tensor(12, 8, 2)[kind]
    found = retrieve(queue, queue, k).indices
    assert same_neighbours(found, sorted_neighbours(queue, queue, k), queue, queue)
    assert torch.equal(found[:, 0], torch.arange(60))
    if exact_rows > 60:  # If the two differ, the own copies come first, however similar they are.
        other = retrieve(queries, queue, k).indices
        assert torch.equal(other[:, 0], torch.arange(60))
        assert all(len(set(row)) == k for row in other.tolist())


def test_copies_are_neighbours_of_one_another() -> None:
    """Of 9 equal texts and 3 neighbours, each text is on the lists of 3: no copy is everybody's neighbour."""
    rows = unit_tensor(1, 8).repeat(9, 1)
    assert torch.bincount(retrieve(rows, rows, 3).indices.ravel()).tolist() == [3] * 9


def test_only_distinct_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = unit_tensor(5, 8).repeat(1000, 1)
    compared: list[int] = []
    real = neighbours._top_k
    monkeypatch.setattr(
        neighbours, "_top_k", lambda queries, rows, *more: compared.append(len(rows)) or real(queries, rows, *more)
    )
    retrieve(rows, rows, 50)
    assert compared == [5]
