"""The mean of an encoder's weights before and after training (WiSE-FT, Wortsman et al., CVPR 2022).

Training sharpens the categories at the scale of its neighbourhoods and forgets part of what the encoder knew. The mean
of both sets of weights keeps most of either, and costs nothing when texts are encoded.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


def distinct_weights(module: nn.Module) -> Weights:
    """The weights of a module by name. Weights that have two names, as in T5, are there once."""
    found: dict[tuple[int, torch.Size], str] = {}
    weights = module.state_dict()  # Its tensors are the module's own.
    for name, one in weights.items():
        found.setdefault((one.data_ptr() or id(one), one.shape), name)
    return {name: weights[name] for name in found.values()}


def copy_weights(module: nn.Module) -> Weights:
    """A copy of all weights of a module."""
    return {name: weights.detach().clone() for name, weights in distinct_weights(module).items()}


@torch.no_grad()
def average_weights(module: nn.Module, before: Weights, share: float) -> None:
    """Move the weights of a module towards those `before` training. With a share of 1 they are the same again."""
    for name, weights in distinct_weights(module).items():
        if weights.is_floating_point():
            weights += share * (before[name].to(weights.device) - weights)
