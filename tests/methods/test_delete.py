"""Delete: the tokens that are hidden in the copy, and the loss."""

from __future__ import annotations

import pytest
import torch
from helpers.methods import slow_info_nce, started
from torch.nn import functional as F

from subtaxa.encoders.augmentation import drop_tokens
from subtaxa.methods import settings_for


@pytest.mark.parametrize("layers", ["all", 2])
def test_the_copy_is_the_text_without_the_hidden_tokens(tiny_encoder: str, layers: int | str) -> None:
    method = started(tiny_encoder, "delete", trained_layers=layers)
    method.tower.eval()  # Without dropout, only the view makes a difference.
    batch = method.data.tokens.batch(torch.arange(32))
    torch.manual_seed(5)
    texts, copies = method.both(batch).chunk(2)
    torch.manual_seed(5)
    mask = drop_tokens(batch.attention_mask, batch.ordinary, 0.3)
    assert 0.15 < 1 - float(mask[batch.ordinary].float().mean()) < 0.45
    expected = method.tower(*method.encoder.inputs(batch.with_(attention_mask=mask)))
    torch.testing.assert_close(copies, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(texts, method.tower(*method.encoder.inputs(batch)), rtol=0, atol=1e-5)
    changed = (mask != batch.attention_mask).any(1)
    torch.testing.assert_close(texts[~changed], copies[~changed], rtol=0, atol=1e-5)
    assert (texts - copies)[changed].abs().amax(1).min() > 1e-3


def test_the_loss_is_info_nce_of_text_and_copy(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "delete+ce")
    batch = method.data.tokens.batch(torch.arange(6))
    torch.manual_seed(3)
    parts = method.loss(batch)
    torch.manual_seed(3)
    heads = F.normalize(method.projection(method.both(batch)), dim=1).double()
    assert parts["contrastive"].item() == pytest.approx(slow_info_nce(heads[:6], heads[6:], 0.05), abs=1e-4)
    assert parts["coarse"].item() > 0


@pytest.mark.parametrize("view", ["none", "replace"])
def test_other_views_work_too(tiny_encoder: str, view: str) -> None:
    method = started(tiny_encoder, "delete", augment=view)
    method.loss(method.data.tokens.batch(torch.arange(8)))["contrastive"].backward()
    gradients = [p.grad for p in method.tower.parameters() if p.requires_grad]
    assert all(g is not None and torch.isfinite(g).all() for g in gradients)
    assert any(g.abs().sum() > 0 for g in gradients if g is not None)


def test_every_word_of_a_text_may_be_hidden(tiny_encoder: str) -> None:
    """At the highest rate, most copies have only special tokens, and the loss is still finite."""
    method = started(tiny_encoder, "delete", augment_rate=0.9)
    assert torch.isfinite(method.loss(method.data.tokens.batch(torch.arange(16)))["contrastive"])


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_own_settings_stand_in_every_preset(preset: str) -> None:
    plain, coarse = (settings_for(preset, method=name) for name in ("delete", "delete+ce"))
    assert (plain.augment, plain.augment_rate, plain.temperature, plain.coarse_weight) == ("drop", 0.3, 0.05, 0.0)
    assert coarse == plain.with_(method="delete+ce", coarse_weight=1.0)
    assert plain.pretrain_epochs == 0
