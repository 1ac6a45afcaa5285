"""List the differences between a run's categories and the true ones: merged pairs and split categories.

    python benchmarks/quality/confusions.py ../shared/data hwu64 RUN

RUN is a run folder that `benchmarks/quality/discover.py ... --out RUN` kept. For each pair the program prints how well
its two parts are separated, before and after training: d' is the distance of their means along the line through both,
in standard deviations; `mixed` is the share of the ten nearest texts that belong to the other part, where 1 is chance.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import options
from sklearn.metrics.cluster import contingency_matrix

from subtaxa import Discovery
from subtaxa.bench.datasets import load
from subtaxa.bench.scoring import score
from subtaxa.runtime.arrays import Floats, Ints, means, unit
from subtaxa.training.fit_encoder import encoder_for

# Parts below this share of a category are not listed.
SMALLEST_SHARE = 0.2
NEAREST = 10


def separation(features: Floats, first: Ints, second: Ints) -> float:
    """d': the distance of the means along the line through them, in standard deviations."""
    direction = features[first].mean(0) - features[second].mean(0)
    a, b = features[first] @ direction, features[second] @ direction
    return float((a.mean() - b.mean()) / (a.std() + b.std()))


def mixing(features: Floats, first: Ints, second: Ints) -> float:
    """The share of the nearest texts that belong to the other part, relative to chance."""
    rows = np.concatenate([first, second])
    is_second = np.arange(len(rows)) >= len(first)
    similarity = features[rows] @ features[rows].T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argpartition(-similarity, NEAREST, axis=1)[:, :NEAREST]
    share = is_second.mean()
    return float((is_second[nearest] != is_second[:, None]).mean() / (2 * share * (1 - share)))


def line(kind: str, what: str, before: Floats, after: Floats, first: Ints, second: Ints) -> str:
    values = [f"{separation(rows, first, second):4.1f} {mixing(rows, first, second):5.2f}" for rows in (before, after)]
    return f"{kind:13s} {len(first):5d} {len(second):5d}   {values[0]}   {values[1]}   {what}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    data, model = load(given.dataset, given.data), Discovery.load(given.run)
    names, fine = np.unique(data.train.fine, return_inverse=True)
    coarse = np.unique(data.train.coarse, return_inverse=True)[1]
    after = model.transform(data.train.texts)
    before = encoder_for(model.settings_).encode(data.train.texts).numpy()
    similarity = after @ unit(means(after, fine, len(names))[0]).T  # (N, K)
    parents = coarse[[int(np.flatnonzero(fine == i)[0]) for i in range(len(names))]]
    similarity[coarse[:, None] != parents] = -np.inf
    print(f"training texts, found categories: {score(data.train.fine, model.labels_)}")
    print(f"training texts, nearest true mean below their label: {score(data.train.fine, similarity.argmax(1))}")
    found = np.unique(model.labels_, return_inverse=True)[1]
    table = contingency_matrix(fine, found)  # (true, found)
    print("                              before       after")
    print("              texts          d' mixed     d' mixed")
    for i in range(len(names)):
        share = SMALLEST_SHARE * table[i].sum()
        split = [j for j in np.argsort(-table[i]) if table[:, j].argmax() == i and table[i, j] > share]
        for j in split[1:]:
            parts = (np.flatnonzero((fine == i) & (found == k)) for k in (split[0], j))
            print(line("split in two", str(names[i]), before, after, *parts))
    for j in range(table.shape[1]):
        share = max(SMALLEST_SHARE * table[:, j].sum(), NEAREST)
        merged = [i for i in np.argsort(-table[:, j]) if table[i, j] > share]
        for i in merged[1:]:
            parts = (np.flatnonzero((fine == k) & (found == j)) for k in (merged[0], i))
            print(line("merged", f"{names[merged[0]]} and {names[i]}", before, after, *parts))


if __name__ == "__main__":
    main()
