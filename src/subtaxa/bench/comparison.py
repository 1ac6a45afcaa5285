"""Ours beside the paper's: every row of its table 2 that was run, with difference, spread and both orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from subtaxa.bench import published
from subtaxa.bench.jobs import Record
from subtaxa.bench.plan import TABLE2
from subtaxa.bench.render import NOTHING, Column, Section, Table
from subtaxa.bench.summary import (
    MEASURES,
    PROTOCOLS,
    by_dataset,
    circumstances,
    folder_name,
    main_runs,
    of,
    run_names,
    scores,
    title,
)
from subtaxa.errors import InputError

ROWS = {**TABLE2, "DOWN": "down"}
NOTES = [
    "paper, centroid: our figures by the two protocols (± standard deviation over the seeds); published: the paper's, "
    "by the first of the two, and DOWN's as its authors gave them. difference: paper − published. Ranks: 1 is the best "
    "of the rows shown, ours by the protocol paper.",
]


def write_comparison(records: list[Record], out: Path) -> str:
    """Write compare.md, .csv and .tex from the main runs; returns the Markdown."""
    rows = [run for run in main_runs(records) if run.method in ROWS.values() and run.dataset in published.BENCHMARKS]
    if not rows:
        raise InputError("there is no run of a method of the paper on its data: begin with `subtaxa bench run`")
    return comparison(rows).write(out)


def comparison(runs: list[Record]) -> Table:
    sections, cells, missing = [], [], []
    for name, members in by_dataset(runs).items():
        there = {row: found for row, method in ROWS.items() if (found := of(members, method))}
        for measure in MEASURES:
            section, more = _section(name, measure, there)
            sections.append(section)
            cells += more
        lacking = [row for row in ROWS if row not in there]
        missing += [f"{title(name)}: {', '.join(lacking)}"] if lacking else []
    notes = [*NOTES, f"Made with {circumstances(runs)}."]
    caption = "Our figures beside the published ones (%)."
    return Table("compare", "Comparison", caption, sections, cells, notes, "; ".join(missing), run_names(runs))


def _section(name: str, measure: str, there: dict[str, list[Record]]) -> tuple[Section, list[dict[str, Any]]]:
    """One data set by one measure."""
    ours = {protocol: [scores(found, protocol, measure) for found in there.values()] for protocol in PROTOCOLS}
    theirs = [published.score(row, name, measure) for row in there]
    ranks = {key: _ranks([found.mean for found in ours[key]]) for key in PROTOCOLS} | {"published": _ranks(theirs)}
    agreement = {key: _agreement([found.mean for found in ours[key]], theirs) for key in PROTOCOLS}
    rows, cells = [], []
    for i, (row, found) in enumerate(there.items()):
        paper, centroid = (ours[protocol][i] for protocol in PROTOCOLS)
        difference = paper.mean - theirs[i]
        rows.append(
            [row, str(len(found)), str(paper), str(centroid), f"{theirs[i]:.2f}", _signed(difference)]
            + [str(ranks[key][i]) for key in ("paper", "published")]
        )
        cells.append(
            {"dataset": title(name), "measure": measure.upper(), "row": row, "method": found[0].method}
            | {"seeds": len(found), "paper": paper.mean, "paper_sd": paper.deviation}
            | {"centroid": centroid.mean, "centroid_sd": centroid.deviation}
            | {"published": theirs[i], "published_of": published.BENCHMARKS[name]}
            | {"difference_paper": difference, "difference_centroid": centroid.mean - theirs[i]}
            | {f"rank_{key}": int(ranks[key][i]) for key in ranks}
            | {f"spearman_{key}": agreement[key] for key in PROTOCOLS}
            | {"runs": "; ".join(map(folder_name, found))}
        )
    columns = [Column("method"), Column("seeds"), *(Column(protocol, "ours") for protocol in PROTOCOLS)]
    columns += [Column(published.heading(name)), Column("difference")]
    columns += [Column("ours", "rank"), Column("published", "rank")]
    orders = ", ".join(f"{_number(agreement[key])} ({key})" for key in PROTOCOLS)
    note = f"Spearman's rank correlation of our order with the published one: {orders}; {len(there)} rows."
    note = " ".join([note, *published.notes([name])])
    beside = " beside the published WOS †" if name == "wos-part" else ""
    return Section(f"{title(name)}{beside}, {measure.upper()}", columns, rows, note), cells


def _ranks(values: list[float]) -> NDArray[np.int64]:
    """1 for the largest; equal ones share the better rank."""
    return rankdata(-np.round(values, 4), method="min").astype(np.int64)


def _agreement(ours: list[float], theirs: list[float]) -> float | None:
    """Spearman's rank correlation; None if there is no order to speak of."""
    if len(ours) < 3 or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(ours, theirs).statistic)


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}".replace("-", "−")
