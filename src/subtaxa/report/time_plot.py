"""A figure for notebooks: how many texts each category has over time.

N texts, n of them with a date, P periods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subtaxa.errors import InputError
from subtaxa.report import style
from subtaxa.report.plots import Picture, colours_of, in_style, spots_of, written
from subtaxa.runtime.arrays import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from subtaxa.taxonomy.fitted_state import FittedState

# Periods from short to long: the first one that divides the dates into at most MAX_PERIODS is used.
PERIODS = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
MAX_PERIODS = 40
# The largest categories are shown, up to this number.
MAX_PANELS = 12


def plot_over_time(state: FittedState, column: str | None = None, label: str | None = None) -> Figure:
    """Plot the number of texts per period of the largest categories, of all labels or of one."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    name, dates = _dates(state, column)
    dated = np.flatnonzero(~np.isnat(dates))
    unit, period, begin = _periods(dates[dated])
    index = state.category_index  # (N,)
    shown = _shown(state, label)
    parents = state.clusters.parents
    colours = colours_of(spots_of(state), parents, np.bincount(parents[index]))
    columns = min(len(shown), style.MAX_COLUMNS)
    rows = -(-len(shown) // columns)
    with in_style():
        figure = Picture((2.6 * columns + 0.4, 1.6 * rows + 0.4), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
        width = np.diff(begin).astype("timedelta64[s]").astype(float) / 86_400  # (P,) in days
        for axes, i in zip(panels, shown, strict=False):
            counts = np.bincount(period[index[dated] == i], minlength=len(width))
            axes.bar(begin[:-1], counts, 0.9 * width, align="edge", color=colours[parents[i]])
            axes.set_title(written(state.taxonomy[i].name), loc="left")
            ticks = AutoDateLocator(maxticks=4)  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(ticks)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
        for axes in list(figure.axes)[len(shown) :]:
            axes.set_visible(False)
        figure.supylabel(f"texts per {unit}", fontsize=style.POINTS)
        figure.supxlabel(written(name), fontsize=style.POINTS, parse_math=False)
    return figure


def _dates(state: FittedState, column: str | None) -> tuple[str, NDArray[np.datetime64]]:
    """The name and the values (N,) of a column of dates: the one that is named, or the first one."""
    if column is None:
        column = next((one.name for one in state.columns if one.kind == "date"), None)
        if column is None:
            raise InputError("no column holds dates: fit with columns=, or keep a column of dates in discover")
    kept = state.columns[column]
    dates = kept.dates()
    if kept.kind != "date" or np.isnat(dates).all():
        raise InputError(f"column {kept.name!r} holds no dates ({kept.kind}): name a column of dates")
    return kept.name, dates


def _periods(dates: NDArray[np.datetime64]) -> tuple[str, Ints, NDArray[np.datetime64]]:
    """The unit, the period of each date (n,), and where the periods begin (P + 1)."""
    for unit, frequency in PERIODS.items():  # noqa: B007 - the last one is used if all are too short
        found: Any = pd.PeriodIndex(pd.DatetimeIndex(dates), freq=frequency)
        if found.max().ordinal - found.min().ordinal < MAX_PERIODS:
            break
    every = pd.period_range(found.min(), found.max() + 1, freq=frequency)
    number = np.array([one.ordinal for one in found], dtype=np.int64) - found.min().ordinal
    return unit, number, every.start_time.to_numpy()


def _shown(state: FittedState, label: str | None) -> list[int]:
    """The indices of the largest categories, largest first."""
    if label is not None and label not in state.coarse_labels:
        raise InputError(f"there is no label {label!r}: use one of {', '.join(map(repr, state.coarse_labels))}")
    some = [i for i, c in enumerate(state.taxonomy) if label is None or c.parent == label]
    return sorted(some, key=lambda i: (-state.taxonomy[i].size, i))[:MAX_PANELS]
