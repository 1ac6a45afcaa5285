"""Measure every claim about speed: `make bench`. The exit code is 1 if a value misses its target.

    python benchmarks/speed/speed_page.py ../shared/data

The features are those of HWU64's training texts by the packaged encoder. The program prints the page and writes
research/measurements/speed.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import assign
import epoch
import reading
import released
import scale
import start
import streaming
import torch
from joblib import cpu_count
from measurement import Measurement

from subtaxa.bench.datasets import load
from subtaxa.encoders.sentence_encoder import SentenceEncoder

PAGE = Path(__file__).resolve().parents[2] / "research" / "measurements" / "speed.json"
# Texts of the epochs whose time is compared; a ratio needs no more.
EPOCH_TEXTS = 3000


def measured(folder: Path, million: bool) -> Iterator[Measurement]:
    """Every measurement, one after the other."""
    yield from start.measure()
    yield from reading.measure()
    data = load("hwu64", folder)
    encoder = SentenceEncoder("packaged", trained_layers=0)
    features = encoder.features(encoder.tokenise(data.train.texts))
    yield from released.measure(features, torch.from_numpy(data.train.coarse_codes))
    for method in ("dna", "soft-dna"):
        yield from epoch.measure(data.limited(EPOCH_TEXTS), method)
    yield from assign.measure(data)
    yield from streaming.measure(data, million=million)
    yield from scale.measure(million=million)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("--million", action="store_true", help="also measure a million rows of a file and of a queue")
    given = parser.parse_args()
    rows = []
    print("| | measured | target | how |\n|---|---|---|---|")
    for row in measured(given.data, given.million):
        target = f"{'≥' if row.at_least else '≤'} {row.target:.3g}{'' if row.met else ', missed'}"
        print(f"| {row.what} | {row.value:.3g} {row.unit} | {target} | {row.how} |", flush=True)
        rows.append(asdict(row) | {"met": row.met})
    content = json.dumps({"cores": cpu_count(), "rows": rows}, indent=2) + "\n"
    PAGE.write_text(content, encoding="utf-8")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
