"""DeepAligned (Zhang et al. 2021): DeepCluster whose pseudo-labels keep their meaning from one epoch to the next.

Each new centroid takes the index of the old centroid with which the Hungarian algorithm matches it, so one classifier
serves all epochs. The epoch with the best silhouette is kept. As in the authors' code, there is no PCA, every text
occurs once per epoch, and tanh(dense(pooled)) is clustered and classified. Our choices: the encoder's own feature is
evaluated, not that head, and no labelled data pretrains the head, so the dense layer starts as the identity; features
are normalised before clustering; pooling is the encoder's; the head has no dropout. K-means has one seed for all
epochs, so that the next epoch can use the clusters that `score` found. "+CE" adds coarse cross-entropy on the encoder's
output.
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
from subtaxa.methods.deepcluster import DeepCluster, draw_seed, kmeans

# The largest number of iterations of k-means, as in scikit-learn. DeepCluster stops after 20.
ITERATIONS = 300

# The number of runs of k-means, because one bad run would scramble the labels. The released code has 10.
RESTARTS = 3

# The number of texts in the sample for the silhouette. The sample is the same after each epoch.
SAMPLE = 2000


def align(old_centroids: Tensor, new_centroids: Tensor) -> Tensor:
    """The permutation (K,) that matches new to old centroids: new[permutation] is as near to old as possible."""
    distances = torch.cdist(old_centroids, new_centroids)  # (K, K)
    return torch.from_numpy(linear_sum_assignment(distances.cpu().numpy())[1]).to(old_centroids.device)


class DeepAligned(DeepCluster):
    """DeepAligned: DeepCluster with clusters matched from epoch to epoch; keeps the epoch with the best silhouette."""

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.dense = dense_tanh(encoder.dimensions)
        self.seed = draw_seed()
        # Until the first clustering, all centroids are the same, so any match is valid.
        self.centroids = torch.zeros(self.k, encoder.dimensions, device=data.labels.device)  # (K, D)
        self.found: tuple[Tensor, Tensor] | None = None  # the clusters that `score` found

    def modules(self) -> dict[str, nn.Module]:
        return super().modules() | {"dense": self.dense}

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"centroids": self.centroids}

    def load_state(self, state: dict[str, Tensor]) -> None:
        super().load_state(state)
        self.centroids.copy_(state["centroids"])

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        centroids, clusters = self.found or self.cluster(self.features())
        self.found = None
        order = align(self.centroids, centroids)  # (K,)
        self.centroids, self.assignment = centroids[order], order.argsort()[clusters]
        return {"clusters": float(len(clusters.unique()))}

    def embed(self, pooled: Tensor) -> Tensor:
        return self.dense(pooled)

    def features(self) -> Tensor:
        """The features (N, D) to cluster: the head's unit features of all texts."""
        tower = self.encoder.tower
        return self.encoder.features(self.data.tokens, _Headed(tower, self.dense).train(tower.training))

    def cluster(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Centroids (K, D) and clusters (N,). The same features always have the same clusters."""
        return kmeans(features, self.k, self.seed, RESTARTS, ITERATIONS)

    def score(self) -> float | None:
        """The silhouette of the clusters for the next epoch, or None if there are too few or too many of them."""
        features = self.features()
        self.found = self.cluster(features)
        sample = torch.randperm(len(features), generator=torch.Generator().manual_seed(0))[:SAMPLE]
        rows, clusters = features.cpu()[sample], self.found[1].cpu()[sample]
        if not 1 < len(clusters.unique()) < len(sample):
            return None
        return float(silhouette_score(rows.numpy(), clusters.numpy()))


class DeepAlignedCE(DeepAligned):
    """DeepAligned plus coarse cross-entropy."""

    defaults: ClassVar = DeepAligned.defaults | {"coarse_weight": 1.0}


class _Headed(nn.Module):
    """The encoder's tower with the dense layer on top."""

    def __init__(self, tower: nn.Module, dense: nn.Module) -> None:
        super().__init__()
        self.tower, self.dense = tower, dense

    def forward(self, inputs: Tensor, attention_mask: Tensor) -> Tensor:
        return self.dense(self.tower(inputs, attention_mask))  # (B, D)


VARIANTS = {"deepaligned": DeepAligned, "deepaligned+ce": DeepAlignedCE}
