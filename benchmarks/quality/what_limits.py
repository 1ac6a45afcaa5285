"""What stands between a run's categories and the true ones: true ones found as one, and single ones found as two.

    python benchmarks/what_limits.py ../shared/data hwu64 RUN

RUN is a folder that `benchmarks/discover.py ... --out RUN` kept. For each such pair it prints how far apart its two
parts are: their distance along the line through their means, in standard deviations (d'), and how often the ten nearest
of a text are of the other part (mixed; 1 would be chance), before training and after. A pair that is further apart than
another is the clearer division, whatever its authors had in mind.
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

PART = 0.2  # a smaller share of a category is not worth telling
NEAREST = 10


def apart(features: Floats, first: Ints, second: Ints) -> float:
    line = features[first].mean(0) - features[second].mean(0)
    a, b = features[first] @ line, features[second] @ line
    return float((a.mean() - b.mean()) / (a.std() + b.std()))


def mixed(features: Floats, first: Ints, second: Ints) -> float:
    rows = np.concatenate([first, second])
    other = np.arange(len(rows)) >= len(first)
    similarity = features[rows] @ features[rows].T
    np.fill_diagonal(similarity, -np.inf)
    near = np.argpartition(-similarity, NEAREST, axis=1)[:, :NEAREST]
    share = other.mean()
    return float((other[near] != other[:, None]).mean() / (2 * share * (1 - share)))


def line(kind: str, what: str, before: Floats, after: Floats, first: Ints, second: Ints) -> str:
    told = [f"{apart(rows, first, second):4.1f} {mixed(rows, first, second):5.2f}" for rows in (before, after)]
    return f"{kind:13s} {len(first):5d} {len(second):5d}   {told[0]}   {told[1]}   {what}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    data, model = load(given.dataset, given.data), Discovery.load(given.run)
    names, fine = np.unique(data.train.fine, return_inverse=True)
    coarse = np.unique(data.train.coarse, return_inverse=True)[1]
    after = model.transform(data.train.texts)
    before = encoder_for(model.settings_).encode(data.train.texts).numpy()
    centres = after @ unit(means(after, fine, len(names))[0]).T  # (N, K)
    parents = coarse[[int(np.flatnonzero(fine == i)[0]) for i in range(len(names))]]
    centres[coarse[:, None] != parents] = -np.inf
    print(f"found, of the training texts: {score(data.train.fine, model.labels_)}")
    print(f"nearest mean of the true categories below the same label: {score(data.train.fine, centres.argmax(1))}")
    found = np.unique(model.labels_, return_inverse=True)[1]
    table = contingency_matrix(fine, found)  # (true, found)
    print("                              before       after")
    print("              texts          d' mixed     d' mixed")
    for i in range(len(names)):
        own = [j for j in np.argsort(-table[i]) if table[:, j].argmax() == i and table[i, j] > PART * table[i].sum()]
        for j in own[1:]:
            parts = (np.flatnonzero((fine == i) & (found == k)) for k in (own[0], j))
            print(line("found as two", str(names[i]), before, after, *parts))
    for j in range(table.shape[1]):
        true = [i for i in np.argsort(-table[:, j]) if table[i, j] > max(PART * table[:, j].sum(), NEAREST)]
        for i in true[1:]:
            parts = (np.flatnonzero((fine == k) & (found == j)) for k in (true[0], i))
            print(line("found as one", f"{names[true[0]]} and {names[i]}", before, after, *parts))


if __name__ == "__main__":
    main()
