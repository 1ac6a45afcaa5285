"""The mean of an encoder's weights before and after training (WiSE-FT, Wortsman et al., CVPR 2022).

Training sharpens the categories at the scale of its neighbourhoods and forgets part of what the encoder knew. The mean
of both sets of weights keeps most of either, and costs nothing when texts are encoded.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


def copy_weights(module: nn.Module) -> Weights:
    """A copy of all weights of a module."""
    return {name: weights.detach().clone() for name, weights in module.state_dict().items()}


@torch.no_grad()
def average_weights(module: nn.Module, before: Weights, share: float) -> None:
    """Move the weights of a module towards those `before` training. With a share of 1 they are the same again."""
    for name, weights in module.state_dict().items():  # The tensors of a state dict are the module's own.
        if weights.is_floating_point():
            weights += share * (before[name].to(weights.device) - weights)
