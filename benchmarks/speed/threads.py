"""Check that 1 and 2 threads agree: the packaged encoder on the built-in example, and a whole fit of a planted corpus.

python benchmarks/speed/threads.py
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from subtaxa import Discovery, read_texts
from subtaxa.encoders.sentence_encoder import SentenceEncoder

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.corpus import planted_corpus
from helpers.tiny_encoder import make_tiny_encoder


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    example = Path(str(files("subtaxa") / "data" / "example" / "support.csv"))
    texts = list(read_texts(example, "message", "department").texts)
    encoder = SentenceEncoder()
    features = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        features.append(encoder.encode(texts).numpy())
    print(f"{len(texts):,} messages, encoded: features differ by at most {difference(*features):.1e}")

    texts, labels, _ = planted_corpus(30)
    models = []
    with tempfile.TemporaryDirectory() as folder:
        settings = {"encoder": make_tiny_encoder(Path(folder)), "epochs": 3, "batch_size": 32, "learning_rate": 1e-3}
        for threads in (1, 2):
            torch.set_num_threads(threads)
            models.append(Discovery(6, **settings).fit(texts, labels))
    one, two = models
    print(
        f"{len(texts)} planted texts, trained: "
        f"features differ by at most {difference(one.features_, two.features_):.1e}, "
        f"confidences by {difference(one.confidences_, two.confidences_):.1e}, "
        f"{int((one.labels_ != two.labels_).sum())} texts change category"
    )


def difference(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.abs(one - two).max())


if __name__ == "__main__":
    main()
