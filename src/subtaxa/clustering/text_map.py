"""The map: every text as a point on a plane, close to the texts that are most like it. t-SNE by openTSNE.

N texts, of which n are new, P distinct points, of which p are spread out, D dimensions, k neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from subtaxa.runtime.arrays import Floats
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.signals import Interrupts

PERPLEXITY = 30.0  # about the number of neighbours that a text keeps close
GATHERING, SPREADING = 125, 250  # rounds: first the clumps form, then they take up room
PULL = 12.0  # times stronger than it should be, while gathering
EVERY = 5  # rounds between two signs of progress
FEW = 12  # points have no neighbourhoods to keep; fewer go on the plane along which they differ most
MANY = 4000  # points from which on a grid is cheaper than a tree
SPREAD = 20_000  # points at most are spread out, more are put among them
NEAREST = 5  # old texts that say where a new one goes
SHARPNESS = 40.0  # how much more the nearest of them count: a mean of far places would lie in no man's land
JITTER = 0.01  # of the map's spread, so that no two points lie on one another


def text_map(features: Floats, seed: int, progress: Progress) -> Floats:
    """The place of each text (N, 2). Texts with the same features have the same place; their order is no matter."""
    with progress.step("Drawing the map", GATHERING + SPREADING) as step:
        points, point = np.unique(features, axis=0, return_inverse=True)  # (P, D), (N,)
        some = np.random.default_rng(seed).permutation(len(points)) < SPREAD  # (P,) all of them if there are no more
        spread = _plane(points[some], seed)  # (p, 2)
        if len(spread) >= FEW:
            spread = _spread_out(points[some], spread, seed, step)
        places = np.empty((len(points), 2), dtype=np.float32)
        places[some] = spread
        places[~some] = places_among(points[~some], points[some], places[some], seed)
        return places[point.ravel()]


def places_among(new: Floats, old: Floats, places: Floats, seed: int) -> Floats:
    """The place of each new text (n, 2): amidst the old texts nearest to it, whose places (N, 2) stay."""
    if not len(new):
        return np.empty((0, 2), dtype=np.float32)
    points, point = np.unique(new, axis=0, return_inverse=True)  # (P, D), (n,)
    search = NearestNeighbors(n_neighbors=min(NEAREST, len(old))).fit(old)
    distances, nearest = search.kneighbors(points)  # (P, k)
    weights = np.exp(SHARPNESS * (distances[:, :1] ** 2 - distances**2))  # (P, k), 1 for the nearest
    middle = np.einsum("pk,pkc->pc", weights / weights.sum(1, keepdims=True), places[nearest])  # (P, 2)
    middle += np.random.default_rng(seed).normal(scale=JITTER * places.std(), size=middle.shape)
    return middle.astype(np.float32)[point.ravel()]


def _plane(points: Floats, seed: int) -> NDArray[np.float64]:
    """The points (P, 2) on the plane along which they differ most."""
    if len(points) == 1:
        return np.zeros((1, 2))
    centred = points - points.mean(0, dtype=np.float64)  # (P, D)
    with threadpool_limits(1):  # or the last digits, and in the end the map, would depend on the machine's cores
        return PCA(2, random_state=seed).fit_transform(centred)


def _spread_out(points: Floats, plane: NDArray[np.float64], seed: int, step: Step) -> NDArray[np.float64]:
    """The points (P, 2) by t-SNE, which begins with the plane made very small and none upon another.

    A signal waits for the next sign of progress: openTSNE crashes if it is left in the middle of a round.
    """
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PerplexityBasedNN

    def progressed(*_: object) -> None:
        step.advance(EVERY)
        interrupts.check()

    jitter = np.random.default_rng(seed).normal(scale=JITTER, size=plane.shape)  # (P, 2)
    with Interrupts() as interrupts, interrupts.shielded():
        places = TSNEEmbedding(
            1e-4 * (plane / plane[:, 0].std() + jitter),
            PerplexityBasedNN(points, min(PERPLEXITY, (len(points) - 1) / 3), method="exact"),
            negative_gradient_method="bh" if len(points) < MANY else "fft",
            momentum=0.8,
            callbacks=progressed,
            callbacks_every_iters=EVERY,
        )
        places.optimize(GATHERING, exaggeration=PULL, inplace=True)
        places.optimize(SPREADING, inplace=True)
    interrupts.check()
    return np.asarray(places)
