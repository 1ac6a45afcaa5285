"""DeepCluster (Caron et al. 2018) on texts: each epoch clusters the texts and then learns the clusters as labels.

Features → PCA, whitening, unit length → k-means → pseudo-labels. A new linear classifier of the pooled feature learns
them for one epoch, in which all clusters occur equally often. As in the authors' code, there are at most 256 dimensions
and 20 iterations of one k-means, and the classifier's weights are drawn with standard deviation 0.01. Our choices:
features have unit length before the PCA too, and AdamW keeps its moments of the classifier when the weights are reset
(the authors start a new SGD). "+CE" adds coarse cross-entropy. Both variants start without pretraining.
N texts, B texts in a batch, K clusters, D dimensions.
"""

from __future__ import annotations

import warnings
from typing import ClassVar

import torch
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.tokens import Batch
from subtaxa.methods.base import Method, TrainingData, checked_positions, coarse_head, coarse_loss

# The largest number of principal components that are kept.
DIMENSIONS = 256

# The largest number of iterations of k-means.
ITERATIONS = 20

# Variances below this share of the largest are rounding errors, which whitening must not amplify.
FLOOR = 1e-6


def whitened(features: Tensor, dims: int) -> Tensor:
    """The first principal components (N, dims), scaled to variance 1 unless their variance is mere rounding error.

    They are computed in main memory, because not every device has 64-bit floats.
    """
    rows = features.cpu().double()
    centred = rows - rows.mean(0)  # (N, D)
    covariance = centred.T @ centred / max(1, len(centred) - 1)  # (D, D)
    variances, axes = torch.linalg.eigh(covariance)  # (D,), (D, D), the largest last
    variances, axes = variances[-dims:].flip(0), axes[:, -dims:].flip(1)
    smallest = (FLOOR * variances[0]).clamp_min(torch.finfo(torch.float32).tiny)
    scaled = centred @ axes / variances.maximum(smallest).sqrt()
    return scaled.float().to(features.device)  # (N, dims)


def kmeans(
    features: Tensor, k: int, seed: int, restarts: int = 1, iterations: int = ITERATIONS
) -> tuple[Tensor, Tensor]:
    """Centroids (K, D) and the cluster of each text (N,). Clusters may be empty if texts are identical.

    It runs on one thread: with three or more, scikit-learn sums in the order in which they finish, so rounding differs.
    """
    rows = features.cpu().numpy()
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning), threadpool_limits(1, "openmp"):
        found = KMeans(k, n_init=restarts, max_iter=iterations, random_state=seed).fit(rows)
    centroids, assignment = torch.from_numpy(found.cluster_centers_), torch.from_numpy(found.labels_).long()
    return centroids.to(features.device), assignment.to(features.device)


def uniform_over_clusters(assignment: Tensor, n: int) -> Tensor:
    """A sample of `n` texts (n,), the same number from each cluster that is not empty.

    The clusters take turns. Each goes through its texts in random order, and starts again when it has no more.
    """
    shuffled = torch.randperm(len(assignment))
    grouped = shuffled[assignment[shuffled].argsort(stable=True)]  # (N,) cluster by cluster
    _, sizes = assignment.unique(return_counts=True)  # (K,)
    starts = sizes.cumsum(0) - sizes  # (K,)
    turns = torch.arange(n)
    cluster = torch.randperm(len(sizes))[turns % len(sizes)]  # (n,)
    return grouped[starts[cluster] + turns // len(sizes) % sizes[cluster]]


def draw_seed() -> int:
    """A seed for scikit-learn, drawn with torch's generator."""
    return int(torch.randint(2**31 - 1, ()))


def reset_classifier(classifier: nn.Linear) -> None:
    """Draw new weights in the same tensors, which the optimiser refers to."""
    nn.init.normal_(classifier.weight, std=0.01)
    nn.init.zeros_(classifier.bias)


class DeepCluster(Method):
    """DeepCluster: in each epoch, a new classifier learns the clusters of the whitened features as labels."""

    defaults: ClassVar = {"pretrain_epochs": 0, "augment": "none", "coarse_weight": 0.0}

    def start(self, encoder: Encoder, data: TrainingData) -> None:
        super().start(encoder, data)
        self.k = min(data.n_categories, len(data))
        self.head = coarse_head(encoder, data)
        self.classifier = nn.Linear(encoder.dimensions, self.k)
        reset_classifier(self.classifier)
        self.assignment = torch.zeros_like(data.labels)  # (N,) all 0 until the first clustering
        self.drawn: Tensor | None = None  # (N,) the texts of the epoch, or None for each text once

    def modules(self) -> dict[str, nn.Module]:
        return {"tower": self.tower, "head": self.head, "classifier": self.classifier}

    def state(self) -> dict[str, Tensor]:
        return {"assignment": self.assignment} | ({} if self.drawn is None else {"drawn": self.drawn})

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.assignment = checked_positions(state["assignment"], self.k).to(self.data.labels.device)
        self.drawn = checked_positions(state["drawn"], len(self.data)) if "drawn" in state else None

    def begin_epoch(self, epoch: int) -> dict[str, float]:
        features = self.encoder.features(self.data.tokens)  # (N, D)
        dims = max(1, min(DIMENSIONS, features.shape[1], len(features) - 1))
        features = F.normalize(whitened(features, dims), dim=1)  # (N, dims)
        _, self.assignment = kmeans(features, self.k, seed=draw_seed())
        self.drawn = uniform_over_clusters(self.assignment.cpu(), len(self.data))
        reset_classifier(self.classifier)
        return {"clusters": float(len(self.assignment.unique()))}

    def training_subset(self) -> Tensor | None:
        return self.drawn

    def embed(self, pooled: Tensor) -> Tensor:
        """The input of the pseudo-label classifier, given the pooled features (B, D)."""
        return pooled

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        pooled = self.query(batch)  # (B, D)
        logits = self.classifier(self.embed(pooled))  # (B, K)
        parts = {"pseudo": F.cross_entropy(logits, self.assignment[batch.index])}
        if self.settings.coarse_weight:
            parts["coarse"] = self.settings.coarse_weight * coarse_loss(self.head, pooled, self.data, batch)
        return parts


class DeepClusterCE(DeepCluster):
    """DeepCluster plus coarse cross-entropy."""

    defaults: ClassVar = DeepCluster.defaults | {"coarse_weight": 1.0}


VARIANTS = {"deepcluster": DeepCluster, "deepcluster+ce": DeepClusterCE}
