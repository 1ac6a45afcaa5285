"""Compare `assign` with `SentenceTransformer.encode` of the same model, and 8-bit weights with 32-bit weights.

A run of the default method on part of HWU64 assigns texts that it has not seen. All three candidates take turns, so
that other processes disturb them alike; each ratio is the median over the rounds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measurement import Measurement
from sentence_transformers import SentenceTransformer

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset

TRAINED, NEW, ROUNDS = 2000, 2000, 5
# The names of 8-bit dot products on Intel's, AMD's and ARM's processors.
DOT_PRODUCTS = ("avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8", "dot", "i8mm")


def measure(data: Dataset, trained: int = TRAINED, texts: int = NEW, rounds: int = ROUNDS) -> list[Measurement]:
    known = data.limited(trained)
    seen = set(known.train.texts)
    unseen = [text for text in data.train.texts if text not in seen]
    new = unseen[:texts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        model = Discovery(data.n_fine).fit(known.train.texts, known.train.coarse)
        model.save(folder)
        int8 = Discovery.load(folder, backend="onnx-int8")
        bare = SentenceTransformer(str(folder / "model"), device="cpu")
        candidates: dict[str, Callable[[], Any]] = {
            "bare": lambda: bare.encode(new, show_progress_bar=False),
            "ours": lambda: model.assign(new),
            "int8": lambda: int8.assign(new),
        }
        # The first call with 8-bit weights also exports the model.
        found = [one.assign(unseen).category_index for one in (model, int8)]
        same = float((found[0] == found[1]).mean())
        for work in candidates.values():
            work()  # Each candidate is warmed up once.
        spent = _take_turns(candidates, rounds)
    ours, rounded = (
        f"HWU64, {len(new):,} new texts, {len(new) / statistics.median(spent[name]):.0f} per second"
        for name in ("ours", "int8")
    )
    bare_name = "SentenceTransformer.encode"
    return [
        Measurement(f"assign, relative to {bare_name}", _ratio(spent, "bare", "ours"), 1, True, ours),
        Measurement(f"assign with onnx-int8, relative to {bare_name}", _ratio(spent, "bare", "int8"), 2, True, rounded),
        Measurement(
            "assign with onnx-int8, relative to 32 bits",
            _ratio(spent, "ours", "int8"),
            2,
            True,
            "the same texts",
            lacks=_lacks(),
        ),
        Measurement(
            "texts that onnx-int8 assigns to the same category", same, 0.98, True, f"{len(unseen):,} new texts", ""
        ),
    ]


def _lacks() -> str:
    """What this processor lacks for fast 8-bit arithmetic."""
    found = torch.cpu.get_capabilities()
    return "" if any(found.get(name) for name in DOT_PRODUCTS) else "8-bit dot products (VNNI)"


def _take_turns(candidates: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, work in candidates.items():
            start = time.perf_counter()
            work()
            spent[name].append(time.perf_counter() - start)
    return spent


def _ratio(spent: dict[str, list[float]], slow: str, fast: str) -> float:
    return statistics.median(a / b for a, b in zip(spent[slow], spent[fast], strict=True))
