"""Figures 3a to 3c, 4, 5 and 7 of the paper, made from run records. report/style.py defines their style."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.bench.consistency import notes as consistency_notes
from subtaxa.bench.paper.aggregation import (
    MEASURES,
    STAGES,
    Spread,
    budget_notes,
    by_dataset,
    circumstances,
    epochs,
    main_runs,
    of_method,
    run_names,
    runs_by_value,
    scores,
    title,
)
from subtaxa.bench.records import MAP, Record
from subtaxa.errors import InputError
from subtaxa.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RANGE = "range over the seeds. "
SCORE = "score on the test texts (%)"
# Methods of figure 5, which has no other.
METHODS = {"wscl": "WSCL", "dna": "DNA"}
# x, y and the coarse label of a text.
MapPoint = tuple[float, float, str]
# A curve: x, and y over the seeds.
Points = Mapping[int, Spread]


def write_figure(number: str, records: list[Record], out: Path, method: str = "dna") -> list[Path]:
    """Write figure<number>.svg and .png and return their paths. Methods other than DNA are part of the file name."""
    draw: dict[str, Callable[[list[Record], str], Figure]] = {
        "3a": neighbour_accuracy,
        "3b": neighbour_count,
        "3c": performance,
        "4": influence_of_k,
        "7": influence_of_m,
        "5": maps,
    }
    with style.styled():
        return style.save(
            draw[number](records, method), out / f"figure{number}{'' if method == 'dna' else f'-{method}'}"
        )


def neighbour_accuracy(records: list[Record], method: str = "dna") -> Figure:
    keys = {label: f"accuracy_{stage}" for stage, label in STAGES.items()}
    return _by_epoch(records, method, keys, "right neighbours (%)", 100.0)


def neighbour_count(records: list[Record], method: str = "dna") -> Figure:
    keys = {label: f"count_{stage}" for stage, label in STAGES.items()}
    figure = _by_epoch(records, method, keys, "neighbours per text", 1.0)
    for panel in figure.axes:
        panel.set_ylim(bottom=0)
    return figure


def performance(records: list[Record], method: str = "dna") -> Figure:
    return _by_epoch(records, method, {measure.upper(): measure for measure in MEASURES}, SCORE, 1.0)


def influence_of_k(records: list[Record], method: str = "dna") -> Figure:
    return _by_setting(records, method, "neighbours", "k, neighbours retrieved")


def influence_of_m(records: list[Record], method: str = "dna") -> Figure:
    return _by_setting(records, method, "rank_top_m", "m, components compared by the rank filter")


def maps(records: list[Record], method: str = "dna") -> Figure:
    """Maps of the test texts by WSCL and by DNA, with a colour and a marker for each coarse label."""
    runs = _pair(main_runs(records))
    points = [_read_map(run) for run in runs]
    labels = sorted({label for rows in points for _, _, label in rows})
    looks = [(style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)]) for i in range(len(labels))]
    small = f"t-SNE of the test texts of {title(runs[0].dataset)}, by coarse label. {_caption(runs)}"
    figure = style.canvas(style.PAGE_WIDTH, 3.5 + 0.17 * -(-len(labels) // 6), small)
    handles: list[Any] = []
    for panel, run, rows in zip(figure.subplots(1, 2), runs, points, strict=True):
        panel.set_title(f"{METHODS[run.method]}, ACC {run.score('paper', 'acc'):.1f}", loc="left", fontweight="bold")
        _square(panel, rows)
        handles = [
            panel.scatter(
                [x for x, _, name in rows if name == label],
                [y for _, y, name in rows if name == label],
                s=9,
                color=colour,
                marker=marker,
                linewidths=0,
                alpha=0.8,
                label=label,
            )
            for label, (colour, marker) in zip(labels, looks, strict=True)
        ]
    style.legend(
        figure,
        handles,
        ncols=min(6, len(labels)),
        markerscale=1.8,
        handletextpad=0.2,
        columnspacing=1.2,
        labelspacing=0.3,
    )
    return figure


def _square(panel: Axes, rows: list[MapPoint]) -> None:
    """Make the panel a square that holds all points, without scales, because distances on the map have no unit."""
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    half = 0.53 * max(max(x) - min(x), max(y) - min(y), 1.0)
    middle = (max(x) + min(x)) / 2, (max(y) + min(y)) / 2
    panel.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    panel.set(xticks=[], yticks=[], aspect="equal")
    panel.spines[:].set(visible=True, color="#BBBBBB")


def _by_epoch(records: list[Record], method: str, keys: Mapping[str, str], y: str, scale: float) -> Figure:
    """Curves over the epochs of a method, one panel for each data set."""
    from matplotlib.ticker import MaxNLocator

    found = {
        name: runs for name, runs in by_dataset(of_method(main_runs(records), method)).items() if any(map(epochs, runs))
    }
    if not found:
        raise InputError(f"this figure needs a run of {method}: start one with `subtaxa bench run --method {method}`")
    used = [run for runs in found.values() for run in runs]
    several = f"Bands: {RANGE}" if any(len(runs) > 1 for runs in found.values()) else ""
    figure, axes = style.panels([title(name) for name in found], y, "epoch", several + _caption(used))
    for panel, runs in zip(axes, found.values(), strict=True):
        curves = {label: _epoch_points(runs, key, scale) for label, key in keys.items()}
        handles = _draw(panel, curves)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.legend(figure, handles, ncols=_columns(figure, len(handles)), handlelength=2.6)
    return figure


def _epoch_points(runs: list[Record], key: str, scale: float) -> Points:
    rows = [row for run in runs for row in epochs(run) if row.get(key) is not None]
    return {
        epoch: Spread(tuple(scale * row[key] for row in rows if row["epoch"] == epoch))
        for epoch in sorted({int(row["epoch"]) for row in rows})
    }


def _by_setting(records: list[Record], method: str, setting: str, x: str) -> Figure:
    """ACC, ARI and NMI over one setting, one panel for each data set. A line marks the value of the main runs."""
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    found = runs_by_value(records, method, setting)
    if not found:
        option = setting.replace("_", "-")
        raise InputError(
            f"this figure needs runs of {method} with several values: start them with `subtaxa bench run --{option} N`"
        )
    main = {run.folder for run in main_runs(records)}
    used = [run for points in found.values() for runs in points.values() for run in runs]
    several = f"Bars: {RANGE}" if any(len(runs) > 1 for points in found.values() for runs in points.values()) else ""
    small = f"Dotted line: the value of the main runs. {several}{_caption(used)}"
    figure, axes = style.panels([title(name) for name in found], SCORE, x, small)
    for panel, points in zip(axes, found.values(), strict=True):
        for value, runs in points.items():
            if any(run.folder in main for run in runs):
                panel.axvline(value, color="#555555", linestyle=":", linewidth=1.3, zorder=1)
        handles = _draw(
            panel,
            {m.upper(): {value: scores(runs, "paper", m) for value, runs in points.items()} for m in MEASURES},
            bars=True,
        )
        panel.set_xscale("log")
        panel.grid(False, axis="x")
        panel.xaxis.set_major_locator(FixedLocator(list(points)))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_major_formatter(ScalarFormatter())
    style.legend(figure, handles, ncols=_columns(figure, len(handles)), handlelength=2.6)
    return figure


def _draw(panel: Axes, curves: Mapping[str, Points], bars: bool = False) -> list[Any]:
    """Draw each curve in its own style with the range over the seeds. Returns the handles for a legend."""
    handles = []
    for (label, points), (colour, marker, line) in zip(curves.items(), style.CURVES, strict=False):
        x, means = list(points), [point.mean for point in points.values()]
        low, high = ([f(point.values) for point in points.values()] for f in (min, max))
        handles += panel.plot(x, means, color=colour, marker=marker, linestyle=line, label=label, zorder=3)
        if low == high:
            continue
        if bars or len(x) == 1:
            panel.vlines(x, low, high, color=colour, linewidth=1.0)
        else:
            panel.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    return handles


def _columns(figure: Figure, number: int) -> int:
    """The number of columns of a legend. A narrow figure has no space for four."""
    return 2 if number > 3 and figure.get_figwidth() < style.PAGE_WIDTH else number


def _caption(runs: Sequence[Record]) -> str:
    made = f"Runs: {', '.join(run_names(runs))}; {circumstances(list(runs))}."
    return " ".join([*budget_notes(runs), made, *consistency_notes(runs)])


def _pair(runs: Iterable[Record]) -> list[Record]:
    """A run of WSCL and one of DNA with the same data and seed, preferably on HWU64."""
    for members in by_dataset(run for run in runs if (run.folder / MAP).exists()).values():
        seeds = [{run.seed: run for run in of_method(members, method)} for method in METHODS]
        common = sorted(set.intersection(*map(set, seeds)))
        if common:
            return [found[common[0]] for found in seeds]
    raise InputError(
        "figure 5 needs a run of wscl and one of dna with the same seed: start them with `subtaxa bench run`"
    )


def _read_map(run: Record) -> list[MapPoint]:
    """The position of each test text and its coarse label."""
    with (run.folder / MAP).open(encoding="utf-8", newline="") as file:
        return [(float(row["x"]), float(row["y"]), row["coarse"]) for row in csv.DictReader(file)]
