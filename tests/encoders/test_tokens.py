"""Packed tokens: padding and masks of a batch, and batches that hold every text once."""

from __future__ import annotations

import pytest
import torch

from subtaxa.encoders.tokens import Tokens

PAD = 99


def packed(*lengths: int, states: bool = False) -> Tokens:
    """Text i holds the ids 100 i, 100 i + 1, ... Its first token is special. Each state is the id, twice."""
    ids = torch.cat([100 * i + torch.arange(n) for i, n in enumerate(lengths)]).int()
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    ordinary = torch.ones(len(ids), dtype=torch.bool)
    ordinary[offsets[:-1]] = False
    tokens = Tokens(ids, ordinary, offsets, PAD)
    return tokens.with_states(lambda empty, _: empty.copy_(torch.stack([ids, -ids], 1)), 2) if states else tokens


def random_lengths(n: int, seed: int = 0) -> list[int]:
    return torch.randint(1, 40, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def test_batch_pads_and_masks() -> None:
    tokens = packed(3, 1, 2)
    batch = tokens.batch(torch.tensor([2, 0]))
    assert len(tokens) == 3
    assert tokens.lengths.tolist() == [3, 1, 2]
    assert batch.index.tolist() == [2, 0]
    assert batch.input_ids.tolist() == [[200, 201, PAD], [0, 1, 2]]
    assert batch.input_ids.dtype == torch.int64
    assert batch.attention_mask.tolist() == [[True, True, False], [True, True, True]]
    assert batch.ordinary.tolist() == [[False, True, False], [False, True, True]]
    assert batch.states is None


def test_batch_is_padded_only_to_its_own_longest_text() -> None:
    assert packed(3, 1, 30).batch(torch.tensor([1, 0])).input_ids.shape == (2, 3)


def test_states_are_gathered_with_the_tokens_and_zero_on_padding() -> None:
    batch = packed(3, 1, 2, states=True).batch(torch.tensor([0, 2, 1]))
    assert batch.states is not None
    assert batch.states[..., 0].tolist() == [[0, 1, 2], [200, 201, 0], [100, 0, 0]]
    assert batch.states[..., 1].tolist() == [[0, -1, -2], [-200, -201, 0], [-100, 0, 0]]


def test_states_that_are_not_finite_stay_in_their_own_text() -> None:
    """Padding is zero, whatever the states of the text that follows in the packed row."""
    tokens = packed(3, 1, 2, 1, states=True)
    assert tokens.states is not None
    tokens.states[4] = torch.inf
    tokens.states[5] = torch.nan
    batch = tokens.batch(torch.tensor([0, 3, 2, 1]))
    assert batch.states is not None
    assert torch.isfinite(batch.states).all(dim=(1, 2)).tolist() == [True, True, False, True]
    assert batch.states[3, :, 0].tolist() == [100, 0, 0]


def test_with_changes_a_copy_and_to_keeps_every_field() -> None:
    batch = packed(3, 1, states=True).batch(torch.tensor([0, 1]))
    changed = batch.with_(states=None)
    assert changed.states is None
    assert batch.states is not None
    assert changed.input_ids is batch.input_ids
    moved = batch.to(torch.device("cpu"))
    assert all(torch.equal(getattr(moved, name), getattr(batch, name)) for name in vars(batch))
    assert changed.to(torch.device("cpu")).states is None


@pytest.mark.parametrize(("max_tokens", "max_texts"), [(100, 256), (64, 3), (1, 256), (8192, 256)])
def test_batches_by_length_hold_each_text_once_within_the_bounds(max_tokens: int, max_texts: int) -> None:
    tokens = packed(*random_lengths(80))
    batches = tokens.batches_by_length(max_tokens, max_texts)
    assert sorted(torch.cat(batches).tolist()) == list(range(80))
    for index in batches:
        assert len(index) <= max_texts
        padded = tokens.batch(index).input_ids.numel()
        assert padded <= max_tokens or len(index) == 1  # A text that is too long has a batch of its own.
    longest = [int(tokens.lengths[index].max()) for index in batches]
    assert longest == sorted(longest, reverse=True)


def test_batches_by_length_are_full() -> None:
    """Ten texts of five tokens, at most 20 tokens: four, four and two."""
    assert [len(b) for b in packed(*[5] * 10).batches_by_length(20)] == [4, 4, 2]


def test_texts_with_the_same_tokens_are_encoded_once() -> None:
    tokens = packed(2, 3, 2, 1)
    ids = tokens.ids.clone()
    ids[5:7] = ids[0:2]  # The third text has the tokens of the first.
    again = Tokens(ids, tokens.ordinary, tokens.offsets, PAD)
    first, kind = again.distinct
    assert first.tolist() == [0, 1, 3]
    assert kind.tolist() == [0, 1, 0, 2]
    assert sorted(torch.cat(again.batches_by_length()).tolist()) == [0, 1, 3]
    rows = torch.tensor([[1.0], [2.0], [-9.0], [4.0]])
    assert again.copied_to_duplicates(rows).ravel().tolist() == [1.0, 2.0, 1.0, 4.0]
    cached = again.with_states(lambda empty, _: empty.copy_(torch.arange(6.0)[:, None]), 1)
    assert cached.starts is not None
    assert cached.starts.tolist() == [0, 2, 0, 5]
    states = cached.batch(torch.tensor([2, 3, 1])).states
    assert states is not None
    assert states[..., 0].tolist() == [[0.0, 1.0, 0.0], [5.0, 0.0, 0.0], [2.0, 3.0, 4.0]]
    assert tokens.copied_to_duplicates(rows) is rows


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_shuffled_batches_hold_each_text_once(size: int) -> None:
    tokens = packed(*random_lengths(150))
    batches = tokens.shuffled_batches(size, torch.Generator().manual_seed(0))
    assert sorted(torch.cat(batches).tolist()) == list(range(150))
    assert max(len(b) for b in batches) <= size


def test_shuffled_batches_hold_the_subset_and_the_last_partial_batch() -> None:
    tokens = packed(*random_lengths(100))
    subset = torch.arange(3, 100, 2)[:45]
    batches = tokens.shuffled_batches(10, torch.Generator().manual_seed(0), subset)
    assert sorted(torch.cat(batches).tolist()) == subset.tolist()
    assert sorted(len(b) for b in batches) == [5, 10, 10, 10, 10]


def test_the_generator_determines_the_shuffled_batches() -> None:
    tokens = packed(*random_lengths(100))

    def drawn(seed: int) -> list[list[int]]:
        return [b.tolist() for b in tokens.shuffled_batches(8, torch.Generator().manual_seed(seed))]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    assert [i for b in drawn(3) for i in b] != sorted(i for b in drawn(3) for i in b)


def test_batches_hold_texts_of_similar_length_but_are_not_sorted_by_length() -> None:
    tokens = packed(*random_lengths(320))
    batches = tokens.shuffled_batches(10, torch.Generator().manual_seed(0))
    ranges = [int(tokens.lengths[b].max() - tokens.lengths[b].min()) for b in batches]
    assert max(ranges) <= 6  # The lengths of all texts span 39.
    longest = [int(tokens.lengths[b].max()) for b in batches]
    assert longest != sorted(longest)
    assert longest != sorted(longest, reverse=True)


def test_an_empty_subset_has_no_batches() -> None:
    """The method "bert" trains on no texts, so that an epoch has no steps rather than one empty step."""
    none = torch.empty(0, dtype=torch.int64)
    assert packed(3, 4, 5).shuffled_batches(2, torch.Generator().manual_seed(0), none) == []
