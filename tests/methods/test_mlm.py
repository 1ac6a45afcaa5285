"""The masked-language-model loss: which tokens are masked, at which rates, and the loss against the whole model."""

from __future__ import annotations

import pytest
import torch
from helpers.methods import prepared
from torch.nn import functional as F

from subtaxa.errors import SettingError
from subtaxa.methods import method_class
from subtaxa.methods.bert import BertCE
from subtaxa.methods.mlm import RATE, BertCEMLM, mask_tokens, token_loss
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import train
from subtaxa.training.trainer import Trainer

MASK = 4


def started(tiny_encoder: str, **changes: object) -> BertCEMLM:
    settings, encoder, data, _ = prepared(tiny_encoder, **changes)
    method = BertCEMLM(settings)
    method.start(encoder, data)
    return method


def test_only_ordinary_tokens_are_masked_at_berts_rates() -> None:
    torch.manual_seed(0)
    ids = torch.randint(10, 100, (400, 100))
    ordinary = torch.rand(ids.shape) < 0.7
    vocabulary = torch.arange(1000, 2000)  # Random tokens can be recognised.
    found, masked = mask_tokens(ids, ordinary, 0.2, MASK, vocabulary)
    assert not (masked & ~ordinary).any()
    assert torch.equal(found[~masked], ids[~masked])
    assert float(masked[ordinary].float().mean()) == pytest.approx(0.2, abs=0.01)
    fates = found[masked]
    hidden, random, same = fates == MASK, torch.isin(fates, vocabulary), fates == ids[masked]
    assert (hidden | random | same).all()
    shares = [float(fate.float().mean()) for fate in (hidden, random, same)]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.02)


def test_masking_none_and_all() -> None:
    ids, ordinary = torch.full((3, 5), 9), torch.tensor([[False, True, True, True, False]] * 3)
    found, masked = mask_tokens(ids, ordinary, 0.0, MASK, torch.tensor([7]))
    assert torch.equal(found, ids)
    assert not masked.any()
    found, masked = mask_tokens(ids, ordinary, 1.0, MASK, torch.tensor([7]))
    assert torch.equal(masked, ordinary)
    assert set(found[ordinary].tolist()) <= {MASK, 7, 9}
    assert torch.equal(ids, torch.full((3, 5), 9))


@pytest.mark.parametrize("trained_layers", [0, 1, 2, "all"])
def test_loss_is_the_cross_entropy_of_the_whole_model_at_the_masked_places(
    tiny_encoder: str, trained_layers: int | str
) -> None:
    method = started(tiny_encoder, trained_layers=trained_layers)
    method.encoder.pipeline.eval()
    method.tower.eval()
    batch = method.data.tokens.batch(torch.arange(12))
    torch.manual_seed(5)
    ids, masked = mask_tokens(batch.input_ids, batch.ordinary, RATE, method.mask_id, method.encoder.vocabulary)
    model = method.encoder.pipeline[0].model
    states = model(input_ids=ids, attention_mask=batch.attention_mask.long()).last_hidden_state  # (B, L, D)
    words, head, total = model.embeddings.word_embeddings.weight, method.token_head, 0.0
    with torch.no_grad():
        head.bias.copy_(torch.linspace(-1, 1, len(words)))
    for text, place in masked.nonzero().tolist():
        hidden = F.layer_norm(F.gelu(head.dense(states[text, place])), (32,), head.norm.weight, head.norm.bias)
        logits = torch.stack([hidden @ word for word in words]) + head.bias
        total -= float(logits.log_softmax(0)[batch.input_ids[text, place]])
    torch.manual_seed(5)
    parts = method.loss(batch)
    assert list(parts) == ["coarse", "mlm"]
    assert masked.sum() > 5
    assert float(parts["mlm"]) == pytest.approx(total / int(masked.sum()), rel=1e-4)
    assert float(parts["coarse"]) == pytest.approx(float(BertCE.loss(method, batch)["coarse"]))  # Of the original text.


def test_nothing_masked_costs_nothing() -> None:
    logits = torch.zeros(0, 10, requires_grad=True)
    loss = token_loss(logits, torch.zeros(0, dtype=torch.int64))
    loss.backward()
    assert float(loss) == 0.0
    assert float(token_loss(torch.zeros(2, 10), torch.tensor([1, 2]))) == pytest.approx(2.302585)


@pytest.mark.parametrize("trained_layers", [2, "all"])
def test_output_weights_are_the_word_embeddings(tiny_encoder: str, trained_layers: int | str) -> None:
    """With frozen layers the embeddings do not change. They are never a second set of weights."""
    method = started(tiny_encoder, trained_layers=trained_layers, batch_size=32)
    words = method.encoder.pipeline[0].model.embeddings.word_embeddings.weight
    assert method.masked_encoder.word_embeddings is words
    assert all(p is not words for p in method.token_head.parameters())
    before = words.detach().clone()
    torch.stack(list(method.loss(method.data.tokens.batch(torch.arange(16))).values())).sum().backward()
    assert (words.grad is not None) == (trained_layers == "all")
    assert torch.equal(words, before)
    if words.grad is not None:
        unseen = torch.isin(torch.arange(len(words)), method.data.tokens.ids, invert=True)
        assert (words.grad[unseen] != 0).any()  # As outputs, tokens that are in no text have gradients too.


def test_training_learns_to_guess(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, learning_rate=5e-3)
    history = Trainer(settings, 0, Progress()).run("", BertCEMLM(settings), encoder, data, 6)
    assert history[-1]["mlm"] < history[0]["mlm"] - 0.1
    assert history[-1]["score"] > 0.8


def test_same_texts_are_held_out_as_without_masks(tiny_encoder: str) -> None:
    method = started(tiny_encoder)
    plain = BertCE(method.settings)
    plain.start(method.encoder, method.data)
    assert torch.equal(method.held_out, plain.held_out)
    assert torch.equal(method.training_subset(), plain.training_subset())


def test_an_encoder_without_a_mask_token_is_refused(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder)
    encoder.pipeline.tokenizer.mask_token = None
    with pytest.raises(SettingError, match=r"has no mask token.*use another encoder"):
        BertCEMLM(settings).start(encoder, data)


def test_down_is_pretrained_with_masks(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method="down", pretrain_epochs=1, epochs=1)
    assert method_class("down").pretraining == "bert+ce+mlm"
    (first, second), _ = train(encoder, data, settings, 0, Progress())
    assert {"coarse", "mlm", "score"} <= set(first)
    assert "alignment" in second
    assert "mlm" not in second
