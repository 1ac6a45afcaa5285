"""Augmentation changes a share of the ordinary tokens and nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from subtaxa.encoders.augmentation import drop_tokens, replace_tokens, shorten
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.encoders.tokens import Batch

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


def test_the_vocabulary_may_be_on_another_device_than_the_batch() -> None:
    ids, _, ordinary = (part.to("meta") for part in texts())
    assert replace_tokens(ids, ordinary, 0.25, VOCABULARY).device == ids.device


def test_rate_zero_changes_nothing() -> None:
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
    bound = 4 * (rate * (1 - rate) / count) ** 0.5  # Four standard deviations.
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


def test_the_same_seed_gives_the_same_view_and_the_input_is_unchanged() -> None:
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


def batch_of(ids: Tensor, mask: Tensor, ordinary: Tensor) -> Batch:
    """Texts whose ordinary tokens have the ids 100, 101, ... in order. A state holds the row and the column."""
    rows, columns = torch.meshgrid(torch.arange(len(ids)), torch.arange(ids.shape[1]), indexing="ij")
    states = torch.stack([rows, columns], dim=2) * mask[..., None]
    return Batch(torch.arange(len(ids)), torch.where(ordinary, 99 + columns, ids), mask, ordinary, states.float())


def same_length(ordinary: int, n: int = 2000) -> Batch:
    """Many texts with `ordinary` ordinary tokens each."""
    ids = torch.tensor([CLS, *[50] * ordinary, SEP]).repeat(n, 1)
    return batch_of(ids, torch.ones_like(ids, dtype=torch.bool), ids == 50)


def rows(batch: Batch) -> list[list[int]]:
    """The ids of each text without padding."""
    return [ids[mask].tolist() for ids, mask in zip(batch.input_ids, batch.attention_mask, strict=True)]


def shortened(batch: Batch, rate: float, most: int, seed: int = 0) -> Batch:
    torch.manual_seed(seed)
    return shorten(batch, rate, most)


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("most", [3, 12, 100])
def test_shortened_texts_keep_the_special_tokens_and_the_order(rate: float, most: int) -> None:
    batch = batch_of(*texts())
    view = shortened(batch, rate, most)
    for before, after in zip(rows(batch), rows(view), strict=True):
        assert [after[0], after[-1]] == [CLS, SEP]
        assert set(after) <= set(before)
        assert after[1:-1] == sorted(set(after[1:-1]))
    assert torch.equal(view.ordinary, view.attention_mask & (view.input_ids >= 100))
    assert torch.equal(view.index, batch.index)


def test_a_special_token_between_two_passages_stays_between_them() -> None:
    ids = torch.tensor([CLS, *[50] * 5, SEP, *[50] * 5, SEP]).repeat(50, 1)
    view = shortened(batch_of(ids, torch.ones_like(ids, dtype=torch.bool), ids == 50), 0.6, 100)
    for row in rows(view):
        left, right = row[1:-1][: row[1:-1].index(SEP)], row[1:-1][row[1:-1].index(SEP) + 1 :]
        assert all(token < 106 for token in left)
        assert all(token > 105 for token in right)
        assert len(left + right) == 4


def test_kept_tokens_keep_their_cached_states() -> None:
    batch = batch_of(*texts())
    view = shortened(batch, 0.4, 12)
    assert view.states is not None
    row, column = view.states[view.attention_mask].long().T
    assert torch.equal(row, view.attention_mask.nonzero()[:, 0])
    assert torch.equal(batch.input_ids[row, column], view.input_ids[view.attention_mask])
    assert not view.states[~view.attention_mask].any()
    assert shortened(batch.with_(states=None), 0.4, 12).states is None


def test_at_least_one_ordinary_token_is_kept() -> None:
    ids, mask, ordinary = texts()
    ids[::5], mask[::5], ordinary[::5] = PAD, torch.arange(30) < 2, False
    ids[::5, :2] = torch.tensor([CLS, SEP])  # Every fifth text is empty.
    view = shortened(batch_of(ids, mask, ordinary), 0.9, 100)
    assert torch.equal(view.ordinary.any(1), ordinary.any(1))
    assert all(row == [CLS, SEP] for row in rows(view)[::5])


@pytest.mark.parametrize(("rate", "ordinary"), [(0.25, 10), (0.4, 7), (0.6, 10)])
def test_the_dropped_share_is_the_rate_and_every_token_is_equally_likely(rate: float, ordinary: int) -> None:
    batch = same_length(ordinary)
    view = shortened(batch, rate, 100)
    lost = ordinary - view.ordinary.sum(1)
    assert set(lost.tolist()) == {math.floor(rate * ordinary), math.ceil(rate * ordinary)}
    assert float(lost.double().mean()) == pytest.approx(rate * ordinary, abs=4 * 0.5 / len(lost) ** 0.5)
    there = torch.bincount(view.input_ids[view.ordinary] - 100, minlength=ordinary) / len(lost)
    bound = 4 * (rate * (1 - rate) / len(lost)) ** 0.5  # Four standard deviations.
    assert (1 - there).tolist() == pytest.approx([rate] * ordinary, abs=bound)


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.4, 0.9])
@pytest.mark.parametrize("most", [3, 8, 20])
def test_no_view_exceeds_the_limit_and_long_texts_reach_it(rate: float, most: int) -> None:
    view = shortened(same_length(250), rate, most)
    lengths = view.attention_mask.sum(1)
    assert view.input_ids.shape[1] == int(lengths.max()) == most
    assert int(lengths.min()) >= most - 1


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.0, 0.4, 0.9])
def test_one_ordinary_token_is_kept_even_if_special_tokens_fill_the_limit(most: int, rate: float) -> None:
    view = shortened(same_length(40), rate, most)
    assert view.input_ids.shape[1] == 3
    assert view.attention_mask.all()
    assert all(row[::2] == [CLS, SEP] for row in rows(view))


def test_a_text_within_the_limit_loses_only_its_share() -> None:
    """Ten tokens minus 40 % are six, plus two special ones. A limit of eight tokens suffices; seven do not."""
    batch = same_length(10)
    assert rows(shortened(batch, 0.4, 8)) == rows(shortened(batch, 0.4, 100))
    assert rows(shortened(batch, 0.4, 7)) != rows(shortened(batch, 0.4, 100))
    assert set(shortened(batch, 0.4, 8).attention_mask.sum(1).tolist()) == {8}


def test_a_text_that_loses_no_token_is_unchanged() -> None:
    batch = batch_of(*texts())
    view = shortened(batch, 0.0, 30)
    assert torch.equal(view.attention_mask, batch.attention_mask)
    assert torch.equal(view.ordinary, batch.ordinary)
    assert rows(view) == rows(batch)
    assert torch.equal(view.states, batch.states)


def test_a_passage_is_contiguous_and_may_begin_anywhere() -> None:
    view = shortened(same_length(10), 0.0, 6)
    begins = torch.tensor([row[1] for row in rows(view)])
    assert all(row[1:-1] == list(range(row[1], row[1] + 4)) for row in rows(view))
    share = torch.bincount(begins - 100) / len(begins)
    bound = 4 * (1 / 7 * 6 / 7 / len(begins)) ** 0.5  # Four standard deviations.
    assert share.tolist() == pytest.approx([1 / 7] * 7, abs=bound)


def test_the_kept_tokens_of_a_long_text_come_from_one_passage() -> None:
    """Six ordinary tokens fit, so the passage has ten at a rate of 40 %."""
    view = shortened(same_length(200), 0.4, 8)
    reach = [row[-2] - row[1] for row in rows(view)]
    assert max(reach) == 9
    assert min(reach) < 9


def test_the_same_seed_shortens_alike_and_the_input_is_unchanged() -> None:
    batch, before = batch_of(*texts()), batch_of(*texts())
    first, again, other = (rows(shortened(batch, 0.4, 12, seed)) for seed in (0, 0, 1))
    assert first == again != other
    for after, former in zip(vars(batch).values(), vars(before).values(), strict=True):
        assert torch.equal(after, former)


@pytest.mark.parametrize("trained_layers", ["all", 2])
def test_the_encoder_sees_only_the_kept_tokens(tiny_encoder: str, trained_layers: int | str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=trained_layers)
    texts = ["refund", "my parcel was lost today with the courier", "new vat bill"]
    tokens = encoder.cache_frozen(encoder.tokenise(texts))
    view = shortened(tokens.batch(torch.arange(3)), 0.4, 6)
    encoder.tower.eval()
    together = encoder.tower(*encoder.inputs(view))
    for i, length in enumerate(view.attention_mask.sum(1).tolist()):
        inputs, mask = (part[i : i + 1, :length] for part in encoder.inputs(view))
        torch.testing.assert_close(together[i : i + 1], encoder.tower(inputs, mask), atol=1e-5, rtol=0)
