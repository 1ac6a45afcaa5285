"""Augmented views touch a share of the ordinary tokens and nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from subtaxa.views import drop_tokens, replace_tokens

CLS, SEP, PAD = 1, 2, 0
VOCABULARY = torch.tensor([100, 101, 105])


def texts(n: int = 200, length: int = 30) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, attention mask and ordinary tokens of texts of different lengths: [CLS] words [SEP] [PAD] ..."""
    columns = torch.arange(length)
    lengths = 3 + torch.arange(n) % (length - 2)
    mask = columns < lengths[:, None]
    ids = torch.full((n, length), 50).where(mask, torch.tensor(PAD))
    ids[:, 0] = CLS
    ids[torch.arange(n), lengths - 1] = SEP
    return ids, mask, mask & (ids != CLS) & (ids != SEP)


@pytest.mark.parametrize("rate", [0.25, 0.9, 1.0])
def test_special_and_padding_tokens_are_never_replaced(rate: float) -> None:
    ids, _, ordinary = texts()
    torch.manual_seed(0)
    view = replace_tokens(ids, ordinary, rate, VOCABULARY)
    assert torch.equal(view[~ordinary], ids[~ordinary])
    assert (view[ordinary] != 50).any()


@pytest.mark.parametrize("rate", [0.25, 0.9, 1.0])
def test_special_tokens_are_never_dropped_and_padding_is_never_added(rate: float) -> None:
    _, mask, ordinary = texts()
    torch.manual_seed(0)
    view = drop_tokens(mask, ordinary, rate)
    assert view.dtype == torch.bool
    assert torch.equal(view[~ordinary], mask[~ordinary])
    assert not view[ordinary].all()


def test_rate_zero_is_the_text_itself() -> None:
    ids, mask, ordinary = texts()
    assert torch.equal(replace_tokens(ids, ordinary, 0.0, VOCABULARY), ids)
    assert torch.equal(drop_tokens(mask, ordinary, 0.0), mask)


def test_rate_one_changes_every_ordinary_token() -> None:
    ids, mask, ordinary = texts()
    assert (replace_tokens(ids, ordinary, 1.0, VOCABULARY)[ordinary] != 50).all()
    assert not drop_tokens(mask, ordinary, 1.0)[ordinary].any()


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.6])
def test_share_of_changed_tokens_is_the_rate(rate: float) -> None:
    ids, mask, ordinary = texts(2000)
    count = int(ordinary.sum())
    bound = 4 * (rate * (1 - rate) / count) ** 0.5  # four standard deviations
    torch.manual_seed(1)
    replaced = (replace_tokens(ids, ordinary, rate, VOCABULARY) != ids).sum() / count
    dropped = (drop_tokens(mask, ordinary, rate) != mask).sum() / count
    assert float(replaced) == pytest.approx(rate, abs=bound)
    assert float(dropped) == pytest.approx(rate, abs=bound)


def test_replacements_come_from_the_vocabulary_and_use_all_of_it() -> None:
    ids, _, ordinary = texts()
    torch.manual_seed(0)
    view = replace_tokens(ids, ordinary, 1.0, VOCABULARY)
    assert view[ordinary].unique().tolist() == VOCABULARY.tolist()


def test_same_seed_same_view_and_the_input_stays() -> None:
    ids, mask, ordinary = texts()
    before = ids.clone(), mask.clone()
    views = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        views.append((replace_tokens(ids, ordinary, 0.3, VOCABULARY), drop_tokens(mask, ordinary, 0.3)))
    assert torch.equal(views[0][0], views[1][0])
    assert torch.equal(views[0][1], views[1][1])
    assert not torch.equal(views[0][0], views[2][0])
    assert not torch.equal(views[0][1], views[2][1])
    assert torch.equal(ids, before[0])
    assert torch.equal(mask, before[1])
