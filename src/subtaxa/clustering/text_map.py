"""The map: every text as a point in the plane, near the texts that are most similar to it (t-SNE by openTSNE).

N texts, n new ones, P distinct points, p of them placed by t-SNE, D dimensions, k neighbours.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from subtaxa.runtime.arrays import Floats, unique_rows
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.signals import Interrupts

# The perplexity of t-SNE: about the number of neighbours that a text keeps close.
PERPLEXITY = 30.0

# The number of iterations with early exaggeration, in which clusters form.
EARLY_ITERATIONS = 125

# The factor of the early exaggeration.
EXAGGERATION = 12.0

# The number of iterations after that, in which the clusters spread out.
FINAL_ITERATIONS = 250

# The number of iterations between two updates of the progress bar.
PROGRESS_EVERY = 5

# Fewer points than this have no neighbourhoods worth preserving, so they are projected by PCA alone.
MIN_POINTS = 12

# From this many points on, interpolation on a grid is faster than a Barnes-Hut tree.
GRID_POINTS = 10_000

# At most this many points are placed by t-SNE; the others are placed among them.
MAX_POINTS = 20_000

# The number of old texts that determine the position of a new one.
NEAREST = 5

# The rate at which the weight of an old text falls with its squared distance.
SHARPNESS = 40.0

# The standard deviation of the noise that keeps points apart, as a share of the spread of the map.
JITTER = 0.01


def text_map(features: Floats, seed: int, progress: Progress) -> Floats:
    """The position of each text (N, 2).

    Texts with the same features have the same position. The order of the texts does not matter.
    """
    with progress.step("Drawing the map", EARLY_ITERATIONS + FINAL_ITERATIONS) as step:
        points, point = unique_rows(features)  # (P, D), (N,)
        some = np.random.default_rng(seed).permutation(len(points)) < MAX_POINTS  # (P,)
        placed = _pca(points[some], seed)  # (p, 2)
        if len(placed) >= MIN_POINTS:
            placed = _tsne(points[some], placed, seed, step)
        positions = np.empty((len(points), 2), dtype=np.float32)
        positions[some] = placed
        positions[~some] = positions_among(points[~some], points[some], positions[some], seed)
        return positions[point]


def positions_among(new: Floats, old: Floats, positions: Floats, seed: int) -> Floats:
    """The position of each new text (n, 2), among the most similar old texts. Their positions (N, 2) do not change."""
    if not len(new):
        return np.empty((0, 2), dtype=np.float32)
    points, point = unique_rows(new)  # (P, D), (n,)
    search = NearestNeighbors(n_neighbors=min(NEAREST, len(old))).fit(old)
    distances, nearest = search.kneighbors(points)  # (P, k)
    weights = np.exp(SHARPNESS * (distances[:, :1] ** 2 - distances**2))  # (P, k)
    middle = np.einsum("pk,pkc->pc", weights / weights.sum(1, keepdims=True), positions[nearest])  # (P, 2)
    middle += np.random.default_rng(seed).normal(scale=JITTER * positions.std(), size=middle.shape)
    return middle.astype(np.float32)[point]


def _pca(points: Floats, seed: int) -> NDArray[np.float64]:
    """The first two principal components of the points (P, 2)."""
    if len(points) == 1:
        return np.zeros((1, 2))
    centred = points - points.mean(0, dtype=np.float64)  # (P, D)
    with threadpool_limits(1):  # The last digits, and so the map, would depend on the number of cores.
        return PCA(2, random_state=seed).fit_transform(centred)


def _tsne(points: Floats, start: NDArray[np.float64], seed: int, step: Step) -> NDArray[np.float64]:
    """The points (P, 2) by t-SNE. It starts from the given positions (P, 2), scaled down and moved apart a little.

    A signal is handled at the next update of the progress bar, because openTSNE crashes if an iteration is interrupted.
    """
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PerplexityBasedNN

    def progressed(*_: object) -> None:
        step.advance(PROGRESS_EVERY)
        interrupts.check()

    jitter = np.random.default_rng(seed).normal(scale=JITTER, size=start.shape)  # (P, 2)
    with Interrupts() as interrupts, interrupts.shielded():
        embedding = TSNEEmbedding(
            1e-4 * (start / start[:, 0].std() + jitter),
            PerplexityBasedNN(points, min(PERPLEXITY, (len(points) - 1) / 3), method="exact"),
            negative_gradient_method="bh" if len(points) < GRID_POINTS else "fft",
            momentum=0.8,
            callbacks=progressed,
            callbacks_every_iters=PROGRESS_EVERY,
            n_jobs=torch.get_num_threads(),
        )
        embedding.optimize(EARLY_ITERATIONS, exaggeration=EXAGGERATION, inplace=True)
        embedding.optimize(FINAL_ITERATIONS, inplace=True)
    interrupts.check()
    return np.asarray(embedding)
