"""How many neighbours count follows the size of the category that a text is in."""

from __future__ import annotations

import pytest
import torch
from planted import blobs
from torch import Tensor

from subtaxa.neighbours import retrieve_within
from subtaxa.reach import FEW, SHARE, surroundings, within_reach


@pytest.fixture
def uneven() -> tuple[Tensor, Tensor, Tensor]:
    """Unit rows, labels and true categories: 6, 40 and 90 texts below one label, 30 below the other."""
    data = blobs([[6, 40, 90], [30]], spread=0.05)
    rows, labels, truth = (torch.from_numpy(part) for part in (data.features, data.labels, data.truth))
    return rows, labels, truth


def reached(rows: Tensor, labels: Tensor, k: int = 200) -> Tensor:
    return within_reach(retrieve_within(rows, rows, labels, k), rows, labels)


def test_surroundings_are_the_mean_similarity_to_the_label(uneven: tuple[Tensor, Tensor, Tensor]) -> None:
    rows, labels, _ = uneven
    slow = torch.stack([(rows[labels == label] @ row).mean() for row, label in zip(rows, labels, strict=True)])
    torch.testing.assert_close(surroundings(rows, labels), slow)


def test_the_number_follows_the_size_of_the_category(uneven: tuple[Tensor, Tensor, Tensor]) -> None:
    rows, labels, truth = uneven
    found = reached(rows, labels).float()
    for category, size in ((0, 6), (1, 40), (2, 90)):
        assert float(found[truth == category].mean()) == pytest.approx(size, rel=0.1)


def test_the_number_is_that_of_a_slow_count(uneven: tuple[Tensor, Tensor, Tensor]) -> None:
    rows, labels, _ = uneven
    some = (labels == 0).nonzero().squeeze(1)
    similarity = (rows[some] @ rows[some].T).fill_diagonal_(1.0)
    near = similarity.sort(dim=1, descending=True).values[:, 1 : 1 + FEW].mean(1)
    around = surroundings(rows, labels)[some]
    inside = similarity >= (around + SHARE * (near - around))[:, None]
    assert reached(rows, labels)[some].tolist() == (inside & inside.T).sum(1).tolist()


@pytest.mark.parametrize("k", [1, 5, 30])
def test_no_more_than_are_listed(uneven: tuple[Tensor, Tensor, Tensor], k: int) -> None:
    rows, labels, _ = uneven
    found = reached(rows, labels, k)
    assert int(found.max()) <= k
    assert int(found.min()) >= 1


@pytest.mark.parametrize("sizes", [[[1]], [[1], [2]], [[1, 1, 1]]])
def test_a_text_alone_reaches_itself(sizes: list[list[int]]) -> None:
    data = blobs(sizes)
    found = reached(torch.from_numpy(data.features), torch.from_numpy(data.labels))
    assert int(found.min()) >= 1
