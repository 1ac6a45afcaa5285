"""Every method runs on a device that is not main memory, as on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from helpers.methods import prepared
from helpers.second_device import DEVICE, SecondDevice

from subtaxa.encoders.augmentation import replace_tokens
from subtaxa.methods import method_class, variants
from subtaxa.training.losses import rank_weights


@pytest.fixture
def second_device() -> Iterator[torch.device]:
    with SecondDevice():
        yield DEVICE


def test_the_second_device_refuses_to_mix_and_computes_as_main_memory_does(second_device: torch.device) -> None:
    here, there = torch.arange(6.0).view(2, 3), torch.arange(6.0, device=second_device).view(2, 3)
    assert there.device == second_device
    with pytest.raises(RuntimeError, match="both devices"):
        here + there
    with pytest.raises(RuntimeError, match="both devices"):
        here[torch.tensor([1, 0]).to(second_device)]
    with pytest.raises(RuntimeError, match="both devices"):
        here.copy_(there).add_(there)
    with pytest.raises(RuntimeError, match="64 bits"):
        there.double()
    assert (there[torch.tensor([1])] + torch.tensor(1.0)).cpu().tolist() == [[4.0, 5.0, 6.0]]
    weights = there.clone().requires_grad_()
    (weights.softmax(1) * here.to(second_device)).sum().backward()
    plain = here.clone().requires_grad_()
    (plain.softmax(1) * here).sum().backward()
    assert weights.grad is not None
    assert plain.grad is not None
    assert torch.equal(weights.grad.cpu(), plain.grad)


@pytest.mark.parametrize("name", variants())
def test_every_hook_runs_on_another_device(tiny_encoder: str, second_device: torch.device, name: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method=name, rank_epochs=1, per_topic=10)
    words = torch.nn.functional.one_hot(data.labels).float()  # They tell the labels, so the default uses them.
    data = replace(data, lexical=words).to(second_device)
    encoder.to(second_device)
    method = method_class(name)(settings)
    method.start(encoder, data)
    for module in method.modules().values():
        module.to(second_device)
    for epoch, augment in ((0, "replace"), (1, "drop"), (int(settings.epochs) - 1, "shorten")):
        method.settings = settings.with_(augment=augment)
        method.begin_epoch(epoch)
        method.training_subset()
        method.tower.train()
        batch = encoder.batch(data.tokens, torch.arange(8))
        loss = torch.stack(list(method.loss(batch).values())).sum()
        assert loss.device == second_device
        assert torch.isfinite(loss)
        loss.backward()
        method.after_step(batch)
        method.score()
        method.load_state({key: value.cpu().clone() for key, value in method.state().items()})  # As from a file.
    assert all(torch.isfinite(p.grad).all() for p in encoder.tower.parameters() if p.grad is not None)


def test_weights_and_replaced_tokens_are_made_where_they_are_used(second_device: torch.device) -> None:
    assert rank_weights(4, 16.0, second_device).device == second_device
    ids = torch.arange(10, device=second_device)[None]
    assert replace_tokens(ids, ids > 2, 0.5, torch.arange(50)).device == second_device
