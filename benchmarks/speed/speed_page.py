"""Measure every claim about speed: `make bench`. The exit code is 1 if a value misses its target.

    python benchmarks/speed/speed_page.py ../shared/data
    python benchmarks/speed/speed_page.py ../shared/data --only start assign

A target does not apply to a machine whose processor lacks what it needs. With `--only`, some groups of rows are
measured again, and the others keep their value and their date. The program prints what it measured and writes
research/measurements/speed.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import assign
import epoch
import forward_equivalents
import reading
import released
import scale
import start
import streaming
import torch
from measurement import Measurement

from subtaxa.bench.datasets import load
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.runtime.cores import cores

PAGE = Path(__file__).resolve().parents[2] / "research" / "measurements" / "speed.json"
# Texts of the epochs whose time is compared; a ratio needs no more.
EPOCH_TEXTS = 3000


def filters(folder: Path) -> list[Measurement]:
    """The features are those of HWU64's training texts by the packaged encoder."""
    data = load("hwu64", folder)
    encoder = SentenceEncoder("packaged", trained_layers=0)
    features = encoder.features(encoder.tokenise(data.train.texts))
    return released.measure(features, torch.from_numpy(data.train.coarse_codes))


def epochs(folder: Path) -> list[Measurement]:
    data = load("hwu64", folder).limited(EPOCH_TEXTS)
    return [row for method in ("dna", "soft-dna") for row in epoch.measure(data, method)]


# The groups of rows, in the order of the page, given the folder of the data and whether to measure a million rows.
GROUPS: dict[str, Callable[[Path, bool], list[Measurement]]] = {
    "start": lambda folder, million: start.measure(),
    "reading": lambda folder, million: reading.measure(),
    "discover": lambda folder, million: forward_equivalents.measure(),
    "filters": lambda folder, million: filters(folder),
    "epochs": lambda folder, million: epochs(folder),
    "assign": lambda folder, million: assign.measure(load("hwu64", folder)),
    "streaming": lambda folder, million: streaming.measure(load("hwu64", folder), million=million),
    "scale": lambda folder, million: scale.measure(million=million),
}


def shown(row: Measurement) -> str:
    """A row as Markdown."""
    target = f"{'≥' if row.at_least else '≤'} {row.target:.3g}{'' if row.met else ', missed'}"
    target = f"does not apply: there are no {row.lacks}" if row.lacks else target
    return f"| {row.what} | {row.value:.3g} {row.unit} | {target} | {row.how} |"


def written() -> list[dict[str, Any]]:
    """The rows that earlier runs have written."""
    return list(json.loads(PAGE.read_text(encoding="utf-8"))["rows"]) if PAGE.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups of rows (default: all)")
    parser.add_argument("--million", action="store_true", help="also measure a million rows of a file and of a queue")
    given = parser.parse_args()
    processor = torch.cpu.get_capabilities().get("cpu_name", platform.processor())
    where = {"date": f"{datetime.date.today()}", "cores": cores(), "processor": processor}
    met = True
    print("| | measured | target | how |\n|---|---|---|---|")
    for group in given.only:
        rows = GROUPS[group](given.data, given.million)
        for row in rows:
            print(shown(row), flush=True)
        met &= all(row.met for row in rows)
        new = [{"group": group, **asdict(row), "met": row.met, **where} for row in rows]
        kept = [row for row in written() if row["group"] != group]
        ordered = sorted([*kept, *new], key=lambda row: list(GROUPS).index(row["group"]))
        PAGE.write_text(json.dumps({"rows": ordered}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
