"""DeepAligned (Zhang et al. 2021): DeepCluster whose pseudo-labels keep their meaning from one epoch to the next.

Each new centroid takes the number of the old centroid it is matched with (Hungarian algorithm), so one classifier
serves all epochs. The epoch with the best silhouette is kept. As in the authors' code, there is no PCA, every text
comes once per epoch, and tanh(dense(pooled)) is clustered and classified. Our choices: the encoder itself is scored,
not that head, and no labelled data pretrains it, so the dense layer starts as the identity; features are clustered at
unit length; pooling is the encoder's; the head has no dropout. K-means has one seed for all epochs, so that the next
epoch can use the clusters that `score` found. "+CE" adds the coarse cross-entropy on the encoder's output.
N texts, B texts in a batch, K clusters, D dimensions.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_score
from torch import Tensor, nn

from subtaxa.encoders.base import Encoder
from subtaxa.methods.base import TrainingData, dense_tanh
from subtaxa.methods.deepcluster import DeepCluster, drawn_seed, kmeans

ITERATIONS = 300  # The limit of k-means, as in scikit-learn; DeepCluster stops after 20.
RESTARTS = 3  # of k-means, one bad run of which would scramble the labels; 10 as released, for three times the time
SAMPLE = 2000  # texts that the silhouette is taken of, the same ones after each epoch


def align(old_centroids: Tensor, new_centroids: Tensor) -> Tensor:
    """The permutation (K,) of the new centroids that brings them nearest to the old: new[permutation] is like old."""
    distances = torch.cdist(old_centroids, new_centroids)  # (K, K)
    return torch.from_numpy(linear_sum_assignment(distances.cpu().numpy())[1]).to(old_centroids.device)


class DeepAligned(DeepCluster):
    """DeepAligned: clusters are the labels of the next epoch, matched to the last ones; the best silhouette is kept."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.dense = dense_tanh(encoder.dimensions)
        self.seed = drawn_seed()
        # Until the first clustering all are alike, so that any match will do.
        self.centroids = torch.zeros(self.k, encoder.dimensions, device=data.labels.device)  # (K, D)
        self.found: tuple[Tensor, Tensor] | None = None  # what `score` clustered, for the next epoch

    def modules(self) -> dict[str, nn.Module]:
        return super().modules() | {"dense": self.dense}

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"centroids": self.centroids}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        self.centroids = state["centroids"].to(self.data.labels.device)

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        centroids, clusters = self.found or self.cluster(self.features())
        self.found = None
        order = align(self.centroids, centroids)  # (K,)
        self.centroids, self.assignment = centroids[order], order.argsort()[clusters]
        return {"clusters": float(len(clusters.unique()))}

    def embed(self, pooled: Tensor) -> Tensor:
        return self.dense(pooled)

    def features(self) -> Tensor:
        """What is clustered: the head's features (N, D) of all texts, of unit length."""
        tower = self.encoder.tower
        return self.encoder.features(self.data.tokens, _Headed(tower, self.dense).train(tower.training))

    def cluster(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Centroids (K, D) and clusters (N,), the same for the same features."""
        return kmeans(features, self.k, self.seed, RESTARTS, ITERATIONS)

    def score(self) -> float | None:
        """The silhouette of the clusters that the next epoch would learn; None if there are too few or too many."""
        features = self.features()
        self.found = self.cluster(features)
        some = torch.randperm(len(features), generator=torch.Generator().manual_seed(0))[:SAMPLE]
        rows, clusters = features.cpu()[some], self.found[1].cpu()[some]
        if not 1 < len(clusters.unique()) < len(some):
            return None
        return float(silhouette_score(rows.numpy(), clusters.numpy()))


class DeepAlignedCE(DeepAligned):
    """DeepAligned with the coarse cross-entropy beside it."""

    defaults: ClassVar = DeepAligned.defaults | {"coarse_weight": 1.0}


class _Headed(nn.Module):
    """The encoder's tower with the dense layer on top."""

    def __init__(self, tower: nn.Module, dense: nn.Module) -> None:
        super().__init__()
        self.tower, self.dense = tower, dense

    def forward(self, inputs: Tensor, attention_mask: Tensor) -> Tensor:
        return self.dense(self.tower(inputs, attention_mask))  # (B, D)


VARIANTS = {"deepaligned": DeepAligned, "deepaligned+ce": DeepAlignedCE}
