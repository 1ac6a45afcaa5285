r"""Are the same categories found in texts of three languages at once?

    python benchmarks/quality/languages.py packaged intfloat/multilingual-e5-small=FOLDER ... \
        >> research/measurements/languages.jsonl

three_languages.csv has 200 requests to a voice assistant in German, Spanish and Chinese, written for this project: ten
for each of 20 categories under 9 coarse labels, in the manner of HWU64. Each encoder groups all of them with the
default cluster rule, without training and with the true number of categories. `by_language` is the accuracy of each
language in the joint categories, `alone` its accuracy if it is grouped without the others. `mixed` is
the share of the categories with texts in all three languages; it is 1 if the language plays no part.
`centred` has the scores with the mean of each language taken off its features.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from subtaxa.bench.scoring import score
from subtaxa.clustering.rules import cluster
from subtaxa.encoders.catalogue import known
from subtaxa.encoders.languages import notice
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.runtime.arrays import Floats, unit

FILE = Path(__file__).with_name("three_languages.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("encoders", nargs="+", metavar="NAME[=FOLDER]")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts, labels, truth, languages = ([row[name] for row in rows] for name in rows[0])
    codes = np.unique(labels, return_inverse=True)[1]
    for one in given.encoders:
        name, _, folder = one.partition("=")
        entry = known(name)
        encoder = SentenceEncoder(folder or name, prompt=entry.prompt if entry and entry.prompt else "model")
        features = encoder.encode(texts).numpy()
        found = cluster(features, codes, len(set(truth)), 0).nearest(features, codes)
        right = _right(np.array(truth), found)
        spoken = np.array(languages)
        centred = _centred(features, spoken)
        joint = cluster(centred, codes, len(set(truth)), 0).nearest(centred, codes)
        record = {
            "command": "benchmarks/quality/languages.py",
            "encoder": name,
            **{measure: round(value, 2) for measure, value in vars(score(truth, found)).items()},
            "by_language": {
                language: round(100 * float(right[spoken == language].mean()), 1) for language in sorted(set(languages))
            },
            "alone": {
                language: _alone(features, codes, truth, spoken == language) for language in sorted(set(languages))
            },
            "mixed": round(float(np.mean([len(set(spoken[found == c])) == 3 for c in np.unique(found)])), 2),
            "centred": {measure: round(value, 2) for measure, value in vars(score(truth, joint)).items()},
            "notice": notice(name, encoder, texts),
        }
        print(json.dumps(record), flush=True)


def _centred(features: Floats, spoken: np.ndarray) -> Floats:
    """The features without the mean of their language."""
    rows = features.copy()
    for language in np.unique(spoken):
        rows[spoken == language] -= rows[spoken == language].mean(0)
    return unit(rows)


def _alone(features: np.ndarray, codes: np.ndarray, truth: list[str], chosen: np.ndarray) -> float:
    """The accuracy of some texts that are grouped without the others."""
    own, labels = features[chosen], np.unique(codes[chosen], return_inverse=True)[1]
    fine = [name for name, is_chosen in zip(truth, chosen.tolist(), strict=True) if is_chosen]
    return round(score(fine, cluster(own, labels, len(set(fine)), 0).nearest(own, labels)).acc, 1)


def _right(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Which texts are in the category that is matched with theirs."""
    names, fine = np.unique(truth, return_inverse=True)
    table = np.zeros((found.max() + 1, len(names)), dtype=np.int64)
    np.add.at(table, (found, fine), 1)
    match = dict(zip(*linear_sum_assignment(-table), strict=True))
    return np.array([match.get(f) == c for f, c in zip(found.tolist(), fine.tolist(), strict=True)])


if __name__ == "__main__":
    main()
