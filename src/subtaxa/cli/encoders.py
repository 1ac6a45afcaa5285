"""`subtaxa encoders`: list the encoders with a short name and those that were measured."""

from __future__ import annotations

import argparse
from typing import Any

from subtaxa.runtime.terminal import say

DATASETS = {"hwu64": "HWU64", "clinc-lt": "CLINC-LT"}
HEADER = ("--encoder", "size", "languages", "licence", "on this machine", *DATASETS.values(), "time")
NOTE = """
HWU64 and CLINC-LT: accuracy, ARI and NMI of the test texts with the true number of categories, by the encoder as it
comes, without training. Time: seconds of one processor core for 1,000 texts of HWU64. Nothing is downloaded unless
you name it: discover FILE --encoder NAME. Any other sentence-transformers model works by its name, NAME@REVISION or
its folder."""


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "encoders",
        help="list the encoders",
        description="List the encoders that have a short name or were measured. Choose one with discover --encoder.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.encoders.catalogue import ENCODERS, PACKAGED, measurements

    records = measurements()
    rows = [HEADER]
    for encoder in ENCODERS:
        names = (encoder.name, PACKAGED) if encoder.short == "small" else (encoder.name,)
        own = {record["dataset"]: record for record in records if record["encoder"] in names}
        scores = [_scores(own.get(dataset)) for dataset in DATASETS]
        here = "installed" if encoder.short == "small" else "yes" if encoder.folder else "no"
        cells = (encoder.short or encoder.name, f"{encoder.megabytes} MB", encoder.languages, encoder.licence, here)
        rows.append((*cells, *scores, _time(own.get("hwu64"))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    say()
    for encoder in ENCODERS:
        say(f"{encoder.short or encoder.name}: {encoder.good_for}" + (f" ({encoder.name})" if encoder.short else ""))
    say(NOTE)


def _scores(record: dict[str, Any] | None) -> str:
    return "" if record is None else f"{record['acc']:.1f} {record['ari']:.1f} {record['nmi']:.1f}"


def _time(record: dict[str, Any] | None) -> str:
    return "" if record is None else f"{1000 * record['seconds'] / record['texts']:.1f} s"
