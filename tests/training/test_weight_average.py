"""The final weights are a mean of those before and after training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.methods import prepared
from numpy.typing import NDArray
from torch import nn

from subtaxa.methods import method_class
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer
from subtaxa.training.weight_average import average_weights, copy_weights


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_every_weight_moves_towards_its_old_value_by_the_share(share: float) -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    before = copy_weights(module)
    with torch.no_grad():
        for weights in module.parameters():
            weights += 4.0
    module[1].num_batches_tracked += 7
    average_weights(module, before, share)
    for name, weights in module.named_parameters():
        torch.testing.assert_close(weights, before[name] + 4.0 * (1 - share))
    assert int(module[1].num_batches_tracked) == 7  # A count is no weight.


def test_a_copy_does_not_change_with_the_module() -> None:
    module = nn.Linear(2, 2)
    before = copy_weights(module)
    with torch.no_grad():
        module.weight += 1.0
    torch.testing.assert_close(before["weight"] + 1.0, module.weight)


def features(tiny_encoder: str, share: float | None) -> NDArray[np.float32]:
    """The features of all texts after a training with this share of untrained weights, or before it."""
    given = {"per_topic": 12, "epochs": 2, "learning_rate": 1e-2, "batch_size": 16, "untrained_share": share or 0.0}
    settings, encoder, data, _ = prepared(tiny_encoder, **given)  # type: ignore[arg-type]
    if share is not None:
        method = method_class(settings.method)(settings)
        Trainer(settings, 0, Progress()).run("", method, encoder, data, 2)
    return encoder.features(data.tokens).numpy()


def test_the_trained_encoder_lies_between_the_two_ends(tiny_encoder: str) -> None:
    untrained, middle, trained = (features(tiny_encoder, share) for share in (1.0, 0.5, 0.0))
    np.testing.assert_allclose(untrained, features(tiny_encoder, None), atol=1e-5)
    way = np.linalg.norm(trained - untrained)
    assert way > 0.1
    assert np.linalg.norm(middle - untrained) < way
    assert np.linalg.norm(trained - middle) < way
