"""The ablation of the default method: its runs on HWU64 next to runs with one part removed or changed."""

from __future__ import annotations

from typing import Any

from subtaxa.bench.consistency import marked
from subtaxa.bench.consistency import notes as consistency_notes
from subtaxa.bench.paper.aggregation import (
    MEASURES,
    Spread,
    circumstances,
    folder_name,
    mean_and_deviation,
    of_method,
    protocols_note,
    run_names,
    scores_if_complete,
    spread,
    title,
)
from subtaxa.bench.paper.table_files import MISSING, Column, Section, signed
from subtaxa.bench.records import Record
from subtaxa.methods.soft_dna_without import VARIANTS

DATASET = "hwu64"
# Protocols that the table shows.
SHOWN = ("paper", "centroid", "discover")
DEFAULT_ROW = "the default"

Rows = dict[str, list[Record]]


def rows_of(ours: list[Record], records: list[Record]) -> Rows:
    """The rows of the table, each named after what is different: the default, runs without one part, other settings.

    Empty if there is nothing to compare the default with.
    """
    default = [run for run in ours if run.dataset == DATASET and not run.limit]
    if not default:
        return {}
    main = default[0]
    comparable = [
        run
        for run in sorted(records, key=lambda run: run.seed)
        if (run.dataset, run.preset, run.budget, run.limit) == (main.dataset, main.preset, main.budget, None)
    ]
    without = {
        _difference_in_words(name): [run for run in of_method(comparable, name) if run.changes == main.changes]
        for name in VARIANTS
    }
    changed: Rows = {}
    for run in of_method(comparable, main.method):
        if main.changes.items() <= run.changes.items() and run.settings != main.settings:
            changed.setdefault(_changes(run, main), []).append(run)
    rest = {name: runs for name, runs in (without | dict(sorted(changed.items()))).items() if runs}
    return {DEFAULT_ROW: default, **rest} if rest else {}


def _difference_in_words(name: str) -> str:
    """How a variant differs, taken from its docstring: "with one k for all texts"."""
    return (VARIANTS[name].__doc__ or name).splitlines()[0].removeprefix("The default ").removesuffix(".")


def _changes(run: Record, main: Record) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(run.changes.items()) if name not in main.changes)


def section(rows: Rows) -> tuple[Section, list[dict[str, Any]]]:
    """Every row by each protocol, its difference from the default, and its training time."""
    default = rows[DEFAULT_ROW]
    shown, cells = [], []
    for name, runs in rows.items():
        found = {measure: {key: scores_if_complete(runs, key, measure) for key in SHOWN} for measure in MEASURES}
        differences = {
            measure: None if runs is default else _difference(runs, default, measure) for measure in MEASURES
        }
        minutes = Spread(tuple(run.seconds["training"] / 60 for run in runs)).mean
        row = [
            marked(name, runs),
            str(len(runs)),
            *(str(found[measure][key] or MISSING) for key in SHOWN for measure in MEASURES),
        ]
        shown.append([*row, signed(differences["acc"]), f"{minutes:.1f}"])
        cells += [
            {"dataset": title(DATASET), "measure": measure.upper(), "row": name, "method": runs[0].method}
            | {"seeds": len(runs)}
            | {field: value for key in SHOWN for field, value in mean_and_deviation(key, found[measure][key]).items()}
            | {"difference_default": differences[measure], "training_minutes": minutes}
            | {"runs": "; ".join(map(folder_name, runs))}
            for measure in MEASURES
        ]
    columns = [Column("method"), Column("seeds")]
    columns += [Column(measure.upper(), protocol) for protocol in SHOWN for measure in MEASURES]
    columns += [Column("difference"), Column("training minutes")]
    used = [run for runs in rows.values() for run in runs]
    notes = [
        f"One part is removed or changed at a time; everything else is as in the default. {title(DATASET)}, "
        f"{_seeds(rows)}. difference: ACC by the protocol paper minus the default's. training minutes: mean over the "
        "runs, without scoring.",
        protocols_note(SHOWN),
        *consistency_notes(used),
        f"Made with {circumstances(used)}: {', '.join(run_names(used))}.",
    ]
    caption = (
        f"subtaxa's default method ({default[0].method}) on {title(DATASET)} with one part removed or changed at a "
        "time (%). ± is the standard deviation over the seeds."
    )
    return Section("Ablation of the default method", columns, shown, " ".join(notes), caption), cells


def _difference(runs: list[Record], default: list[Record], measure: str) -> float | None:
    """The mean difference over the seeds that both have."""
    theirs = {run.seed: run.score("paper", measure) for run in default}
    found = spread(run.score("paper", measure) - theirs[run.seed] for run in runs if run.seed in theirs)
    return found.mean if found else None


def _seeds(rows: Rows) -> str:
    seeds = {tuple(run.seed for run in runs) for runs in rows.values()}
    if len(seeds) > 1:
        return "not all rows have the same seeds: the difference is over the seeds that a row shares with the default"
    (same,) = seeds
    return f"the same {len(same)} seeds in every row" if len(same) > 1 else "the same single seed in every row"
