"""Tables 1 to 4 of the paper, made from run records, with the published values where the paper has them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from subtaxa.bench.consistency import marked
from subtaxa.bench.consistency import notes as consistency_notes
from subtaxa.bench.paper import published
from subtaxa.bench.paper.aggregation import (
    MEANING,
    MEASURES,
    STAGES,
    Spread,
    budget_notes,
    by_dataset,
    circumstances,
    epochs,
    folder_name,
    main_runs,
    mean_and_deviation,
    of_method,
    protocols_note,
    run_names,
    scores_if_complete,
    spread,
    title,
)
from subtaxa.bench.paper.plan import BASELINE_ROWS, LATER, TABLE2, TABLE3, belongs
from subtaxa.bench.paper.table_files import MISSING, Bold, Column, Section, Table
from subtaxa.bench.records import Record
from subtaxa.errors import InputError

SPREAD = "± is the standard deviation over the seeds."
# All methods are scored by the same four protocols.
PROTOCOLS = tuple(MEANING)
PROTOCOL = protocols_note(PROTOCOLS)
WITH_ADVANTAGE = [row for row, method in BASELINE_ROWS.items() if method.endswith("-per-label")]
ADVANTAGE_NOTE = (
    "‡ has an advantage and is not ranked with the others: by the protocol paper it uses the coarse label of each test "
    "text, and k-means also uses the number of categories of each label."
)


def write_table(number: str, records: list[Record], out: Path) -> str:
    """Write table<number>.md, .csv and .tex from the main runs. Returns the Markdown."""
    runs = main_runs(records)
    return {"1": table1, "2": table2, "3": table3, "4": table4}[number](runs).write(out)


def table1(runs: list[Record]) -> Table:
    """The data sets: the counts that were read and the published counts."""
    columns = [Column("data set"), *(Column(name, "read") for name in published.COUNTS)]
    columns += [Column(name, "published") for name in published.COUNTS]
    rows, cells, notes = [], [], dict.fromkeys(published.notes([run.dataset for run in runs]))
    for name, members in by_dataset(runs).items():
        for found in dict.fromkeys(tuple(run.data[key] for key in published.COUNTS) for run in members):
            used = [run for run in members if tuple(run.data[key] for key in published.COUNTS) == found]
            theirs = published.counts(name)
            mark = " †" if name == "wos-part" else ""
            paper = [f"{theirs[key]:,}" if theirs else MISSING for key in published.COUNTS]
            row = marked(title(name) + mark, used)
            rows.append([row, *(f"{number:,}" for number in found), *paper])
            cells.append(
                {"dataset": title(name), **dict(zip(published.COUNTS, found, strict=True))}
                | {f"skipped_{part}": used[0].data["skipped"][part] for part in ("train", "test")}
                | {f"published_{key}": theirs.get(key) for key in published.COUNTS}
                | {"published_of": published.BENCHMARKS.get(name, ""), "runs": _runs(used)}
            )
            notes |= dict.fromkeys(note for run in used for note in run.data["notes"])
    notes |= dict.fromkeys(consistency_notes(runs))
    caption = "The data sets: coarse and fine categories, training and test texts."
    return Table("table1", "Table 1", caption, [Section("", columns, rows)], cells, list(notes), "", run_names(runs))


def table2(runs: list[Record]) -> Table:
    """Every method on every data set, by every protocol."""
    ladder = set(TABLE3.values()) - set(TABLE2.values())
    known = {*BASELINE_ROWS.values(), *TABLE2.values(), *LATER.values()}
    used = [run for run in runs if run.method not in ladder]
    own = {name: name for name in sorted({run.method for run in used} - known)}
    columns = [Column("method"), Column("seeds"), *_score_columns(), Column("s/epoch"), Column("peak MB")]
    sections, cells, missing = [], [], []
    for name, members in by_dataset(used).items():
        rows: list[list[str]] = []
        lacking: list[str] = []
        for group in (BASELINE_ROWS, TABLE2, LATER, own):
            there = {row: found for row, method in group.items() if (found := of_method(members, method))}
            rows += [[]] if rows and there else []
            rows += [
                [marked(_with_sign(row), found), str(len(found)), *_scores(found), *_costs(found)]
                for row, found in there.items()
            ]
            cells += [{"dataset": title(name), "row": row, **_cells(found)} for row, found in there.items()]
            lacking += [row for row, method in group.items() if row not in there and belongs(method, name)]
        sections.append(Section(title(name), columns, _best_in_bold(rows, range(2, 2 + len(_score_columns())))))
        missing += [f"{title(name)}: {', '.join(lacking)}"] if lacking else []
    notes = [
        SPREAD,
        PROTOCOL,
        *_encoder_note(used),
        *_advantage_note(used),
        *consistency_notes(used),
        f"Bold: the best of each column. {_made(used)}",
    ]
    caption = " ".join(["All methods: ACC, ARI and NMI (%), time and memory.", *budget_notes(used)])
    return Table("table2", "Table 2", caption, sections, cells, notes, "; ".join(missing), run_names(used))


def table3(runs: list[Record]) -> Table:
    """The paper's ablation, on every data set with at least two of its rows."""
    rungs = [run for run in runs if run.method in TABLE3.values()]
    shown = {name: found for name, found in by_dataset(rungs).items() if len({run.method for run in found}) > 1}
    if not shown:
        methods = ", ".join(TABLE3.values())
        raise InputError(f"table 3 needs runs of two of {methods} on one data set: start them with `subtaxa bench run`")
    sections, cells, missing = [], [], []
    for name, members in shown.items():
        compared = name == "hwu64"
        columns = [Column("model"), Column("seeds"), *_score_columns()]
        columns += [Column(measure.upper(), "published") for measure in MEASURES if compared]
        there = {row: found for row, method in TABLE3.items() if (found := of_method(members, method))}
        rows = []
        for row, found in there.items():
            theirs = {measure: published.ablation(row, name, measure) for measure in MEASURES}
            published_scores = [_number(theirs[measure]) for measure in MEASURES] if compared else []
            rows.append([marked(row, found), str(len(found)), *_scores(found), *published_scores])
            cells.append(
                {"dataset": title(name), "row": row, **_cells(found)}
                | {f"published_{measure}": theirs[measure] for measure in MEASURES}
            )
        sections.append(Section(title(name), columns, rows))
        lacking = [row for row in TABLE3 if row not in there]
        missing += [f"{title(name)}: {', '.join(lacking)}"] if lacking else []
    used = [run for members in shown.values() for run in members]
    about = "The paper's ablation: each row adds one part to the row above (%)."
    caption = " ".join([about, *budget_notes(used)])
    return Table(
        "table3",
        "Table 3",
        caption,
        sections,
        cells,
        [SPREAD, PROTOCOL, *consistency_notes(used), _made(used)],
        "; ".join(missing),
        run_names(used),
    )


def table4(runs: list[Record]) -> Table:
    """The neighbours of the first retrieval after each filter: how many are right and how many are left."""
    found = by_dataset(of_method(runs, "dna"))
    first = {
        name: [row for run in members for row in epochs(run) if row["epoch"] == 1] for name, members in found.items()
    }
    first = {name: rows for name, rows in first.items() if any("accuracy_knn" in row for row in rows)}
    if not first:
        raise InputError("table 4 needs a run of dna: start one with `subtaxa bench run --method dna`")
    columns, rows, cells = [Column("filter")], [[stage] for stage in STAGES.values()], []
    for name, logs in first.items():
        theirs = [published.neighbour_accuracy(stage, name) for stage in STAGES.values()]
        compared = theirs[0] is not None
        group = marked(title(name), found[name])
        columns += [Column("accuracy", group)]
        columns += [Column(published.heading(name), group)] if compared else []
        columns += [Column("left", group)]
        for (stage, label), row, paper in zip(STAGES.items(), rows, theirs, strict=True):
            right = spread(_percent(log.get(f"accuracy_{stage}")) for log in logs)
            left = spread(log.get(f"count_{stage}") for log in logs)
            row += [_number(right), *([_number(paper)] if compared else []), _number(left)]
            cells.append(
                {"dataset": title(name), "filter": label, "seeds": len(logs)}
                | mean_and_deviation("accuracy", right)
                | mean_and_deviation("left", left)
                | {"published_accuracy": paper, "published_of": published.BENCHMARKS.get(name, "")}
                | {"runs": _runs(found[name])}
            )
    used = [run for name in first for run in found[name]]
    notes = [
        "accuracy: share of the neighbours that have the fine category of the text (%), at the first retrieval. "
        "left: neighbours per text. A text is not counted as its own neighbour.",
        SPREAD,
        *published.notes(list(first)),
        *consistency_notes(used),
        _made(used),
    ]
    missing = ", ".join(f"DNA on {title(name)}" for name in by_dataset(runs) if name not in first)
    caption = " ".join(["The accuracy of the retrieved neighbours after each filter of DNA.", *budget_notes(used)])
    return Table("table4", "Table 4", caption, [Section("", columns, rows)], cells, notes, missing, run_names(used))


def _score_columns() -> list[Column]:
    return [Column(measure.upper(), protocol) for protocol in PROTOCOLS for measure in MEASURES]


def _scores(runs: list[Record]) -> list[str]:
    return [_number(scores_if_complete(runs, protocol, measure)) for protocol in PROTOCOLS for measure in MEASURES]


def _seconds_and_memory(runs: list[Record]) -> tuple[Spread | None, Spread | None]:
    return spread(run.seconds["per_epoch"] or None for run in runs), spread(run.peak_memory_mb for run in runs)


def _costs(runs: list[Record]) -> list[str]:
    seconds, memory = _seconds_and_memory(runs)
    return [f"{seconds.mean:.1f}" if seconds else MISSING, f"{max(memory.values):,.0f}" if memory else MISSING]


def _cells(runs: list[Record]) -> dict[str, Any]:
    """A row of the CSV file: unformatted numbers and the folders of the runs."""
    row: dict[str, Any] = {"method": runs[0].method, "seeds": len(runs)}
    for protocol in PROTOCOLS:
        for measure in MEASURES:
            row |= mean_and_deviation(f"{protocol}_{measure}", scores_if_complete(runs, protocol, measure))
    seconds, memory = _seconds_and_memory(runs)
    row |= {"seconds_per_epoch": seconds and seconds.mean, "peak_memory_mb": memory and int(max(memory.values))}
    return {**row, "runs": _runs(runs)}


def _runs(runs: list[Record]) -> str:
    return "; ".join(map(folder_name, runs))


def _best_in_bold(rows: list[list[str]], columns: range) -> list[list[str]]:
    """The same rows with the largest number of each column in bold. Rows with an advantage are not ranked."""
    ranked = [row for row in rows if row and "‡" not in row[0]]
    best = {i: max((_mean(row[i]) for row in ranked), default=-math.inf) for i in columns}
    return [
        [
            Bold(cell) if row in ranked and i in best and cell != MISSING and _mean(cell) == best[i] else cell
            for i, cell in enumerate(row)
        ]
        for row in rows
    ]


def _mean(cell: str) -> float:
    return -math.inf if cell == MISSING else float(cell.split()[0])


def _with_sign(row: str) -> str:
    return f"{row} ‡" if row in WITH_ADVANTAGE else row


def _number(value: float | Spread | None) -> str:
    return MISSING if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _made(runs: list[Record]) -> str:
    return f"Made with {circumstances(runs)}."


def _encoder_note(runs: list[Record]) -> list[str]:
    encoders = {str(run.settings["encoder"]) for run in runs if run.method in TABLE2.values()}
    other = sorted(name for name in encoders if "bert" not in name.lower())
    return (
        [f"BERT in the name of a row stands for the encoder of the runs ({', '.join(other)}), which is not BERT."]
        if other
        else []
    )


def _advantage_note(runs: list[Record]) -> list[str]:
    return [ADVANTAGE_NOTE] if {BASELINE_ROWS[row] for row in WITH_ADVANTAGE} & {run.method for run in runs} else []
