"""STAR (EMNLP 2024): DOWN with a second space, in which each text is a Gaussian and distance is KL divergence.

A head maps each text to a diagonal Gaussian, and d is the symmetric KL divergence between the Gaussians of the query
and of each row. L = CE + 0.05·L_KL + L_EU: L_KL is DOWN's loss on −d/τ, and L_EU is DOWN's loss on cosine/τ with the
terms of the denominator multiplied by B^d, where B is trained. Texts that are far apart in one space are thus pushed
apart harder in the other.

As in the authors' code, the head is a ReLU and one linear layer on the unit feature, its ELU + 1 is the variance, and d
is summed over the dimensions and averaged over both directions. The queue's Gaussians are computed from its rows, so
they need no pass of the encoder. Our choices: they are computed by a momentum copy of the head and kept in a second
queue (the authors apply the trained head to all rows at each step); the head starts with small weights, so that d is
near 0 at first and STAR starts as DOWN with any encoder, because a large d would dominate the cosine.
N texts, B texts in a batch, M dimensions of a Gaussian.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import TrainingData
from subtaxa.methods.dna import DNA
from subtaxa.methods.down import DOWN
from subtaxa.training.feature_queue import FeatureQueue
from subtaxa.training.losses import symmetric_kl, weighted_nce
from subtaxa.training.momentum import update_momentum

# The number of dimensions of a Gaussian, M.
DIMENSIONS = 128

# The weight of L_KL.
DIVERGENCE_WEIGHT = 0.05

# The initial and the smallest value of B. At 1 and below, distant texts would not be pushed apart harder.
BASE, MIN_BASE = 10.0, 1.001

# The smallest variance, because ELU + 1 comes arbitrarily close to 0. The authors add 1e-14.
MIN_VARIANCE = 0.01


class GaussianHead(nn.Module):
    """Maps unit features (B, D) to means and variances, concatenated (B, 2M)."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dimensions, 2 * DIMENSIONS)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        mean, raw = self.linear(F.relu(features)).chunk(2, dim=1)  # (B, M) each
        return torch.cat([mean, F.elu(raw) + 1.0 + MIN_VARIANCE], dim=1)


class Penalty(nn.Module):
    """The logarithm of B^d, which is d · ln B. B is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Parameter(torch.tensor(BASE))

    def forward(self, divergence: Tensor) -> Tensor:
        return divergence * self.base.clamp(min=MIN_BASE).log()


class StarDNA(DNA):
    """STAR-DNA: STAR's loss with the neighbours that DNA's filters keep."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.gaussian, self.penalty = GaussianHead(encoder.dimensions), Penalty()
        self.momentum_gaussian = copy.deepcopy(self.gaussian).requires_grad_(False)
        self.gaussians = FeatureQueue(torch.zeros(len(data), 2 * DIMENSIONS, device=encoder.device))

    def modules(self) -> dict[str, nn.Module]:
        heads = {"gaussian": self.gaussian, "momentum_gaussian": self.momentum_gaussian, "penalty": self.penalty}
        return super().modules() | heads

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"gaussians": self.gaussians.rows}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        self.gaussians.refresh(state["gaussians"])

    @torch.no_grad()
    def begin_epoch(self, epoch: int) -> dict[str, float]:
        log = super().begin_epoch(epoch)
        self.gaussians.refresh(self.momentum_gaussian(self.queue.rows))
        return log

    def contrast(self, queries: Tensor, batch: Batch) -> dict[str, Tensor]:
        """The two parts of L_EU, and 0.05·L_KL."""
        chosen, tau = (self.positives[batch.index], self.weights[batch.index]), self.settings.temperature
        d = symmetric_kl(self.gaussian(queries), self.gaussians.rows)  # (B, N)
        alignment, uniformity = weighted_nce(queries @ self.queue.rows.T / tau, *chosen, self.penalty(d))
        divergence = DIVERGENCE_WEIGHT * torch.stack(weighted_nce(-d / tau, *chosen)).sum()
        return {"alignment": alignment, "uniformity": uniformity, "divergence": divergence}

    @torch.no_grad()
    def after_step(self, batch: Batch) -> None:
        """As in DNA; also update the momentum copy of the head and the batch's Gaussians."""
        super().after_step(batch)
        update_momentum(self.momentum_gaussian, self.gaussian, self.settings.momentum)
        index = self.gather(batch.index)
        self.gaussians.write(index, self.momentum_gaussian(self.queue.rows[index]))


class STAR(StarDNA, DOWN):
    """STAR: DOWN with texts compared both by cosine and by the KL divergence of Gaussians."""


VARIANTS = {"star": STAR, "star-dna": StarDNA}
