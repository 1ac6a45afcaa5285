"""Our scores next to the published ones.

The default method and its ablation come first, then every row of the paper's table 2 that was run, with the difference,
the spread over the seeds and the ranks.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from subtaxa.bench.consistency import consistent, marked
from subtaxa.bench.consistency import notes as consistency_notes
from subtaxa.bench.paper import default_ablation, published
from subtaxa.bench.paper.aggregation import (
    MEANING,
    MEASURES,
    PROTOCOLS,
    budget_notes,
    by_dataset,
    circumstances,
    folder_name,
    main_runs,
    mean_and_deviation,
    of_method,
    protocols_note,
    run_names,
    scores,
    scores_if_complete,
    spread,
    title,
)
from subtaxa.bench.paper.plan import TABLE2
from subtaxa.bench.paper.table_files import MISSING, Column, Section, Table, signed
from subtaxa.bench.records import Record, choose_variant
from subtaxa.errors import InputError
from subtaxa.methods.soft_dna_without import VARIANTS
from subtaxa.settings import PRESETS

DEFAULT = PRESETS["default"]["method"]
# Data sets of the default method's table, in order.
SHOWN = ("clinc", "hwu64", "clinc-lt", "wos-part")
# Published rows shown next to the default method.
PUBLISHED = ("DOWN", "DNA")
ROWS = {**TABLE2, "DOWN": "down"}
NOTES = [
    "paper, centroid: our scores by these protocols (± is the standard deviation over the seeds). published: the "
    "paper's scores, by the protocol paper, and DOWN's scores as its authors reported them. difference: paper minus "
    "published. rank: 1 is the best of the rows shown; ours is by the protocol paper.",
]


def write_comparison(records: list[Record], out: Path, variant: str | None = None, mix: bool = False) -> str:
    """Write compare.md, .csv and .tex from the main runs of a variant. Returns the Markdown.

    Without a given variant, the default method uses its own main runs, with its own settings. `mix` allows runs of
    different code in the table and marks them.
    """
    # The runs of the default method must not decide which variant the paper's methods use.
    apart = () if variant else (DEFAULT, *VARIANTS)
    kept = choose_variant([run for run in records if run.method not in apart], variant)
    own = kept if variant else records
    rows = [run for run in main_runs(kept) if run.method in ROWS.values() and run.dataset in published.BENCHMARKS]
    ours = [run for run in main_runs(of_method(own, DEFAULT)) if run.dataset in SHOWN]
    if not rows and not ours:
        raise InputError("no run uses a method and a data set of the paper: start one with `subtaxa bench run`")
    parts = default_ablation.rows_of(ours, own)
    every = {run.folder: run for run in [*rows, *ours, *chain(*parts.values())]}
    kept_runs = {run.folder: run for run in consistent(list(every.values()), mix)}
    rows, ours = ([kept_runs[run.folder] for run in some] for some in (rows, ours))
    parts = {name: [kept_runs[run.folder] for run in some] for name, some in parts.items()}
    return comparison(rows, ours, parts).write(out)


def comparison(runs: list[Record], ours: list[Record], parts: default_ablation.Rows) -> Table:
    """The table from the runs of the paper's methods, of the default method and of its ablation."""
    sections, cells = _headline(ours) if ours else ([], [])
    if parts:
        section, more = default_ablation.section(parts)
        sections.append(section)
        cells += more
    missing = []
    for name, members in by_dataset(runs).items():
        there = {row: found for row, method in ROWS.items() if (found := of_method(members, method))}
        for measure in MEASURES:
            section, more = _section(name, measure, there)
            sections.append(section)
            cells += more
        lacking = [row for row in ROWS if row not in there]
        missing += [f"{title(name)}: {', '.join(lacking)}"] if lacking else []
    notes = [*NOTES, *consistency_notes(runs), f"Made with {circumstances(runs)}."] if runs else []
    caption = " ".join(["Our scores next to the published ones (%).", *budget_notes(runs)])
    used = run_names([*ours, *chain(*parts.values()), *runs])
    return Table("compare", "Comparison", caption, sections, cells, notes, "; ".join(missing), used)


def _headline(runs: list[Record]) -> tuple[list[Section], list[dict[str, Any]]]:
    """The default method on each data set by every protocol, with its time and the published scores."""
    found = by_dataset(runs)
    rows, cells = [], []
    for name in filter(found.__contains__, SHOWN):
        members, mark = found[name], " †" if name == "wos-part" else ""
        ours = {measure: {key: scores_if_complete(members, key, measure) for key in MEANING} for measure in MEASURES}
        theirs = {measure: {row: _published(row, name, measure) for row in PUBLISHED} for measure in MEASURES}
        minutes = spread(run.seconds["whole"] / 60 if _has_meaningful_time(run) else None for run in members)
        row = [marked(title(name) + mark, members), str(len(members))]
        row += [str(ours[measure][key] or MISSING) for key in MEANING for measure in MEASURES]
        row += [f"{minutes.mean:.1f}" if minutes else MISSING]
        rows.append(row + [_number(theirs[measure][key]) for key in PUBLISHED for measure in MEASURES])
        cells += [
            {"dataset": title(name), "measure": measure.upper(), "row": "subtaxa", "method": DEFAULT}
            | {"seeds": len(members)}
            | {field: value for key in MEANING for field, value in mean_and_deviation(key, ours[measure][key]).items()}
            | {"minutes": minutes and minutes.mean}
            | {f"published_{key.lower()}": theirs[measure][key] for key in PUBLISHED}
            | {"published_of": published.BENCHMARKS.get(name, ""), "runs": "; ".join(map(folder_name, members))}
            for measure in MEASURES
        ]
    cores = " or ".join(map(str, sorted({run.machine["cores"] for run in runs})))
    columns = [Column("data set"), Column("seeds")]
    columns += [Column(measure.upper(), protocol) for protocol in MEANING for measure in MEASURES]
    columns += [Column(f"minutes on {cores} cores")]
    columns += [Column(measure.upper(), f"published {row}") for row in PUBLISHED for measure in MEASURES]
    notes = [
        protocols_note(MEANING),
        "minutes: a whole run with its scoring, averaged over the runs that used all cores and were not interrupted. "
        "published: DNA's scores by the protocol paper, and DOWN's scores as its authors reported them.",
        *published.notes(list(found)),
        *consistency_notes(runs),
        f"Made with {circumstances(runs)}: {', '.join(run_names(runs))}.",
    ]
    caption = (
        f"subtaxa's default method ({DEFAULT}) by each protocol, next to the published scores (%). "
        "± is the standard deviation over the seeds."
    )
    return [Section(f"subtaxa, default method {DEFAULT}", columns, rows, " ".join(notes), caption)], cells


def _has_meaningful_time(run: Record) -> bool:
    """Whether a run used all cores and was not interrupted."""
    return not run.seconds["resumed"] and run.machine["threads"] == run.machine["cores"]


def _published(row: str, dataset: str, measure: str) -> float | None:
    return published.score(row, dataset, measure) if dataset in published.BENCHMARKS else None


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
            [marked(row, found), str(len(found)), str(paper), str(centroid), f"{theirs[i]:.2f}", signed(difference)]
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
    note = f"Spearman's rank correlation between our order and the published one: {orders}; {len(there)} rows."
    note = " ".join([note, *published.notes([name])])
    suffix = ", with the published WOS †" if name == "wos-part" else ""
    return Section(f"{title(name)}{suffix}, {measure.upper()}", columns, rows, note), cells


def _ranks(values: list[float]) -> NDArray[np.int64]:
    """1 for the largest value. Equal values share the better rank."""
    return rankdata(-np.round(values, 4), method="min").astype(np.int64)


def _agreement(ours: list[float], theirs: list[float]) -> float | None:
    """Spearman's rank correlation, or None if the values have no meaningful order."""
    if len(ours) < 3 or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(ours, theirs).statistic)


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}".replace("-", "−")
