"""How much of the silhouette is kept when categories are balanced, and what that does to their accuracy.

    python benchmarks/quality/one_size.py ../shared/data clinc [RUN] [--spread 0.3]

Without RUN the features are those of the pretrained encoder. With a folder written by `benchmarks/quality/discover.py
... --out RUN` they are the trained ones. The output is one JSON line. For the true total and others around it, it has
the share of the silhouette that balanced categories keep and the share of texts with a negative silhouette. It also has
the ACC of the training texts in merged categories, in those that balanced k-means starts from, and in balanced ones.
With --spread the categories are first cut to log-normal sizes with this standard deviation of the logarithm.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from common import options

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset, load
from subtaxa.bench.scoring import score
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules import cluster
from subtaxa.clustering.rules.balanced import balance_cost, balanced
from subtaxa.clustering.rules.merged import MergedRule
from subtaxa.methods import settings_for
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.training.fit_encoder import encoder_for

AROUND = (0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2)  # times the true total


def features_of(data: Dataset, run: Path | None) -> Floats:
    """Unit features (N, D) of the training texts."""
    if run is not None:
        return Discovery.load(run).features_
    encoder = encoder_for(settings_for("default").for_data(data.train.texts, data.n_fine))
    return encoder.features(encoder.tokenise(data.train.texts)).cpu().numpy()


def cut(fine: Ints, spread: float) -> Ints:
    """The rows that are left when each category is cut to a size of its own, around six tenths of what it has."""
    rng, left = np.random.default_rng(0), []
    for category in range(int(fine.max()) + 1):
        own = rng.permutation(np.flatnonzero(fine == category))
        left.append(own[: max(3, round(0.6 * len(own) * float(np.exp(spread * rng.normal()))))])
    return np.sort(np.concatenate(left))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--spread", type=float)
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    features, labels = features_of(data, given.run), np.unique(data.train.coarse, return_inverse=True)[1]
    fine = np.unique(data.train.fine, return_inverse=True)[1]
    if given.spread is not None:
        rows = cut(fine, given.spread)
        features, labels, fine = features[rows], labels[rows], fine[rows]
    forest, total = Forest(features, labels), data.n_fine
    as_balanced = forest.as_balanced()
    left = {}
    for some in (round(share * total) for share in AROUND):
        left[some] = [round(number, 3) for number in balance_cost(forest, some)]
    found_balanced = balanced(as_balanced, as_balanced.divide(total))
    ways = {
        "merged": cluster(features, labels, total, rule=MergedRule()),
        "free": found_balanced.free,
        "balanced": found_balanced.balanced,
    }
    accuracy = {
        name: round(score(fine.tolist(), found.nearest(features, labels)).acc, 1) for name, found in ways.items()
    }
    how = "" if given.run is None else f" {given.run.name}"
    how += "" if given.spread is None else f" --spread {given.spread}"
    print(json.dumps({"command": f"benchmarks/one_size.py {given.dataset}{how}", "left": left, "acc": accuracy}))


if __name__ == "__main__":
    main()
