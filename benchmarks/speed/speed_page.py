"""Every claim about speed, measured in one go: `make bench`. Ends with 1 if a ratio is worse than its bar.

    python benchmarks/speed_page.py ../shared/data

The features are those of HWU64's training texts by the encoder that comes along. It writes results/speed.json and
prints the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from common import coarse_numbers, cores
from speed import assign, epoch, reading, released, scale, start, streaming
from speed.rows import Row

from subtaxa.bench.datasets import load
from subtaxa.encoders.sentence_encoder import Encoder

HERE = Path(__file__).parent.parent
EPOCH_TEXTS = 3000  # enough for a ratio


def measured(folder: Path, million: bool) -> Iterator[Row]:
    """Every ratio, as it comes."""
    yield from start.measure()
    yield from reading.measure()
    data = load("hwu64", folder)
    encoder = Encoder("packaged", trained_layers=0)
    features = encoder.features(encoder.tokenise(data.train.texts))
    yield from released.measure(features, coarse_numbers(data.train))
    for method in ("dna", "soft-dna"):
        yield from epoch.measure(data.limited(EPOCH_TEXTS), method)
    yield from assign.measure(data)
    yield from streaming.measure(data, million=million)
    yield from scale.measure(million=million)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the authors' files")
    parser.add_argument("--million", action="store_true", help="a million rows of a file, and for retrieval, too")
    given = parser.parse_args()
    rows = []
    print("| | measured | bar | how |\n|---|---|---|---|")
    for row in measured(given.data, given.million):
        bar = f"{'≥' if row.least else '≤'} {row.bar:.3g}{'' if row.met else ', missed'}"
        print(f"| {row.what} | {row.value:.3g} {row.unit} | {bar} | {row.how} |", flush=True)
        rows.append(asdict(row) | {"met": row.met})
    content = json.dumps({"cores": cores(), "rows": rows}, indent=2) + "\n"
    (HERE / "results" / "speed.json").write_text(content, encoding="utf-8")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
