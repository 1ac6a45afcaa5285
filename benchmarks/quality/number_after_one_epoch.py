"""How many categories the texts show after the first epoch of a training that does not know their number.

    python benchmarks/quality/number_after_one_epoch.py ../shared/data hwu64 --seeds 0 1

That is when `discover --categories auto` estimates the number. The training stops there, so several seeds take a
quarter of the time. The output is one JSON line per seed.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from common import options

from subtaxa.bench.datasets import Dataset, load
from subtaxa.clustering.estimators import SilhouetteEstimator
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.number_of_categories import numbers_per_label, readable
from subtaxa.encoders.lexical import lexical_features
from subtaxa.methods import settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.runtime.arrays import Floats, Ints, unit
from subtaxa.runtime.progress import Progress
from subtaxa.training.fit_encoder import encoder_for
from subtaxa.training.trainer import Trainer


class Estimate(Exception):
    """The first epoch is over; carries what texts are compared by (N, D)."""


class UntilJudged(SoftDNA):
    """The default, up to the moment when it would estimate the number."""

    def estimate_number(self, epoch: int) -> None:
        if epoch == 1:
            raise Estimate(unit(self.comparison_features().cpu().numpy()))


def one_epoch(data: Dataset, seed: int) -> tuple[Floats, Ints, Ints]:
    """What texts are compared by (N, D), their labels (N,), and the true number below each label (L,)."""
    rows = sorted(zip(data.train.coarse, data.train.texts, data.train.fine, strict=True))  # as `discover` orders them
    texts, fine = [text for _, text, _ in rows], np.array([name for *_, name in rows])
    names, labels = np.unique([label for label, *_ in rows], return_inverse=True)
    number = max(len(names), readable(len(texts)))
    settings = settings_for("default").for_data(texts, number)
    encoder = encoder_for(settings)
    tokens = encoder.cache_frozen(encoder.tokenise(texts))
    training = TrainingData(
        tokens,
        torch.from_numpy(labels),
        len(names),
        number,
        number_is_guess=True,
        estimate_neighbours=True,
        untrained=encoder.features(tokens),
        lexical=torch.from_numpy(lexical_features(texts)[0]),
    )
    true = np.array([len(set(fine[labels == label])) for label in range(len(names))])
    try:
        Trainer(settings, seed, Progress()).run("", UntilJudged(settings), encoder, training, int(settings.epochs))
    except Estimate as reached:
        return reached.args[0], labels, true
    raise AssertionError("the number is estimated after the first epoch, so train for two or more")


def found(features: Floats, labels: Ints, true: Ints) -> dict[str, Any]:
    """The estimated number against the true one."""
    forest = Forest(features, labels)
    estimate = SilhouetteEstimator().estimate(forest)
    _, low, total, high, _ = estimate.totals.tolist()
    forest, choices = numbers_per_label(forest, estimate=estimate)
    off = np.array([choice.chosen for choice in choices]) - true
    return {
        "total": total,
        "even": forest.balanced,
        "plausible": [low, high],
        "true": int(true.sum()),
        "off_percent": round(100 * (total / int(true.sum()) - 1), 1),
        "within_one_percent": round(100 * float((abs(off) <= 1).mean()), 1),
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    for seed in given.seeds:
        command = f"benchmarks/number_after_one_epoch.py {given.dataset} --seeds {seed}"
        print(json.dumps({"command": command, **found(*one_epoch(data, seed))}), flush=True)


if __name__ == "__main__":
    main()
