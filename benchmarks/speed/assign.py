"""Assigning new texts, against `SentenceTransformer.encode` of the same model, and with 8-bit weights against without.

A run of the default on part of HWU64 files texts that it has not seen. All three take turns, so that a noisy
machine disturbs them alike; each ratio is the median over the rounds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from speed.rows import Row

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset

TRAINED, NEW, ROUNDS = 2000, 2000, 5
LIMIT = "the same texts; this needs a processor with instructions for products of 8 bits (VNNI)"


def measure(data: Dataset, trained: int = TRAINED, texts: int = NEW, rounds: int = ROUNDS) -> list[Row]:
    known = data.limited(trained)
    seen = set(known.train.texts)
    unseen = [text for text in data.train.texts if text not in seen]
    new = unseen[:texts]
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "run"
        model = Discovery(data.n_fine).fit(known.train.texts, known.train.coarse)
        model.save(folder)
        rounded = Discovery.load(folder, backend="onnx-int8")
        bare = SentenceTransformer(str(folder / "model"), device="cpu")
        works: dict[str, Callable[[], Any]] = {
            "bare": lambda: bare.encode(new, show_progress_bar=False),
            "ours": lambda: model.assign(new),
            "int8": lambda: rounded.assign(new),
        }
        same = float((model.assign(unseen).place == rounded.assign(unseen).place).mean())  # also exports
        for work in works.values():
            work()  # to warm up
        spent = _turns(works, rounds)
    ours, int8 = (
        f"HWU64, {len(new):,} new texts, {len(new) / statistics.median(spent[name]):.0f} a second"
        for name in ("ours", "int8")
    )
    return [
        Row("filing new texts, against SentenceTransformer.encode", _ratio(spent, "bare", "ours"), 1, True, ours),
        Row("filing with onnx-int8, against SentenceTransformer.encode", _ratio(spent, "bare", "int8"), 2, True, int8),
        Row("filing with onnx-int8, against filing without", _ratio(spent, "ours", "int8"), 2, True, LIMIT),
        Row("texts that onnx-int8 files alike", same, 0.98, True, f"of {len(unseen):,} new texts", ""),
    ]


def _turns(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            begun = time.perf_counter()
            work()
            spent[name].append(time.perf_counter() - begun)
    return spent


def _ratio(spent: dict[str, list[float]], slow: str, quick: str) -> float:
    return statistics.median(a / b for a, b in zip(spent[slow], spent[quick], strict=True))
