"""Figures for a notebook: the map of the texts, the sizes of the categories, the course of the training.

N texts, K categories, G groups that share a colour, D dimensions.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from subtaxa.errors import InputError, SettingError, SubtaxaError
from subtaxa.report import style
from subtaxa.report.label_placement import place_names
from subtaxa.runtime.arrays import Floats, Ints

try:
    import matplotlib
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise SubtaxaError(style.MISSING) from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from subtaxa.taxonomy.fitted_state import FittedState

PALETTE = (*style.COLOURS[:-1], "#777777")  # points in black would drown the names
CLOSE = 0.18  # of the map's width: categories of a label that share its name
AROUND = 0.03  # of the map's width
FAR = 8.0  # pixels from the edge of a name to what it names ask for a line between them
LONGEST = 42  # letters of a name
WORDS = {"kept": "neighbours kept", "k": "neighbours retrieved", "score": "score on texts held out"}
CAPTION = "texts that mean alike lie close together; the directions mean nothing"
ASIDE = ("epoch", "pretraining", "seconds", "retrieval_seconds")


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=130)
        return out.getvalue()


@dataclass(frozen=True)
class Name:
    """What is written on the map, where, in which group's colour, for how many texts; if large, and in any case."""

    text: str
    place: tuple[float, float]
    group: int
    texts: int
    heading: bool = False
    needed: bool = False


def plot_map(state: FittedState, color: str = "label", ax: Axes | None = None) -> Figure:
    """All texts on a plane with the names of their labels or categories; close groups have different colours."""
    if color not in ("label", "category"):
        raise SettingError(f"color is {color!r}: it must be 'label' or 'category'")
    spots, place = _spots(state), state.category_index  # (K, 2), (N,)
    owner = state.clusters.parents if color == "label" else np.arange(len(spots))  # (K,)
    colours = _colours(spots, owner, np.bincount(owner[place]))  # (G,)
    names = _label_names(state, spots) if color == "label" else _category_names(state, spots)
    count = f"{len(place):,} texts, {len(spots):,} categories of {len(state.coarse_labels):,} labels"
    with matplotlib.rc_context(style.SETTINGS):
        figure, axes = _canvas(ax, 8.0, 7.5)
        dots: Any = {"s": np.clip(30_000 / len(place), 3.5, 20), "alpha": 0.6, "linewidths": 0, "rasterized": True}
        x, y = state.map.T
        axes.scatter(x, y, c=[colours[i] for i in owner[place]], **dots)
        axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim", xlabel=CAPTION)
        axes.margins(0.04)
        axes.spines[:].set(visible=True, color="#CCCCCC")
        axes.set_title(count, loc="left", fontweight="bold")
        _write(axes, sorted(names, key=lambda name: (not name.needed, -name.texts)), colours, state.map)
    return figure


def plot_sizes(state: FittedState, ax: Axes | None = None) -> Figure:
    """How many texts each category has, below its label."""
    taxonomy = state.taxonomy
    parents = state.clusters.parents  # (K,)
    colours = _colours(_spots(state), parents, np.bincount(parents[state.category_index]))  # as on the map
    rows: list[tuple[str, int | None, str]] = []  # name, size and colour; a label has no size
    for parent, colour in zip(taxonomy.parents, colours, strict=True):
        rows.append((_written(parent), None, colour))
        rows += [(_written(c.name), c.size, colour) for c in taxonomy.children(parent)]
    with matplotlib.rc_context(style.SETTINGS):
        figure, axes = _canvas(ax, 6.5, 0.7 + 0.17 * len(rows))
        bars = [(y, size, colour) for y, (_, size, colour) in enumerate(rows) if size is not None]
        height, width, shades = zip(*bars, strict=True)
        drawn = axes.barh(height, width, color=shades, height=0.75)
        axes.bar_label(drawn, [f"{size:,}" for size in width], padding=3, color="#444444")
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], parse_math=False)  # in the caller's axes too
        for tick, (_, size, _) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if size is None else "normal")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel="texts")
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.08)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    return figure


def plot_history(state: FittedState) -> Figure:
    """What was measured in each epoch of the training, a panel for each quantity; pretraining is shaded."""
    history = state.history
    keys = [key for key in dict.fromkeys(key for row in history for key in row) if key not in ASIDE]
    if not keys:
        raise InputError("this run has no history to plot: it was not trained, see `settings_.epochs`")
    before = sum(bool(row.get("pretraining")) for row in history)
    columns = 2 if len(keys) == 4 else min(len(keys), style.MAX_COLUMNS)
    rows = -(-len(keys) // columns)
    with matplotlib.rc_context(style.SETTINGS):
        figure = Picture((2.5 * columns + 0.4, 2.2 * rows), layout="constrained")
        grid = list(figure.subplots(rows, columns, squeeze=False, sharex=True).flat)
        for axes, key in zip(grid, keys, strict=False):
            curve = [(i, row[key]) for i, row in enumerate(history, 1) if key in row]
            axes.plot(*zip(*curve, strict=True), color=style.BLUE, marker="o")
            axes.set_title(WORDS.get(key, key.replace("_", " ")), loc="left", fontweight="bold")
            axes.set(xlabel="epoch", xlim=(0.5, len(history) + 0.5))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
            axes.tick_params(labelbottom=True)
            if before:
                axes.axvspan(0.5, before + 0.5, color="#EEEEEE", zorder=0)
        for axes in grid[len(keys) :]:
            axes.set_visible(False)
    return figure


def _canvas(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    """The caller's axes and their figure, or new ones."""
    if ax is not None:
        return ax.figure.figure, ax
    figure = Picture((width, height), layout="constrained")
    return figure, figure.subplots()


def _written(text: str) -> str:
    """A user's text as a name in a figure: one line, not too long, nothing that has no shape."""
    text = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def _spots(state: FittedState) -> Floats:
    """For each category the place (K, 2) on the map that has the most of its texts around it."""
    place, near, spots = state.category_index, AROUND * np.ptp(state.map), []
    for i in range(len(state.taxonomy)):
        own = state.map[place == i]  # (n, 2)
        spots.append(own[KDTree(own).query_ball_point(own, near, return_length=True).argmax()])
    return np.stack(spots)


def _colours(spots: Floats, owner: Ints, texts: Ints) -> list[str]:
    """A colour for each group (G): the one whose other bearers are the farthest away, the largest groups first."""
    apart = cdist(spots, spots)  # (K, K)
    gap = np.full((len(texts), len(texts)), np.inf)  # (G, G)
    np.minimum.at(gap, (owner[:, None], owner[None, :]), apart)
    number = np.full(len(texts), -1)  # (G,)
    for group in np.argsort(-texts, kind="stable"):
        free = [gap[group, number == colour].min(initial=np.inf) for colour in range(len(PALETTE))]
        number[group] = int(np.argmax(free))
    return [PALETTE[i] for i in number]


def _category_names(state: FittedState, spots: Floats) -> list[Name]:
    return [
        Name(_written(c.name), (x, y), i, c.size)
        for i, ((x, y), c) in enumerate(zip(spots, state.taxonomy, strict=True))
    ]


def _label_names(state: FittedState, spots: Floats) -> list[Name]:
    """Each label's name at every group of its categories that lie close together; the largest group has to have it."""
    sizes, width = np.array([c.size for c in state.taxonomy]), np.ptp(state.map)
    names = []
    for label, text in enumerate(state.coarse_labels):
        members = np.flatnonzero(state.clusters.parents == label)
        group = np.ones(1, dtype=np.int64)
        if len(members) > 1:
            group = fcluster(linkage(spots[members], "average"), CLOSE * width, "distance")
        texts = np.bincount(group, sizes[members])
        for one in np.unique(group):
            largest = members[group == one][sizes[members][group == one].argmax()]
            x, y = spots[largest]
            names.append(Name(_written(text), (x, y), label, int(texts[one]), True, one == texts.argmax()))
    return names


def _write(axes: Axes, names: Sequence[Name], colours: Sequence[str], places: Floats) -> None:
    """Write names on a map where there is room for them, with a line to what is named where that is some way off."""
    figure = axes.figure.figure
    figure.draw_without_rendering()  # only now is the layout known
    halo = [withStroke(linewidth=2.5, foreground="white")]
    written = [
        axes.annotate(
            name.text,
            name.place,
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            color=_darker(colours[name.group]),
            fontsize=style.POINTS + 2 * name.heading,
            fontweight="bold" if name.heading else "normal",
            path_effects=halo,
            zorder=4,
        )
        for name in names
    ]
    anchors = axes.transData.transform([name.place for name in names])  # (M, 2)
    sizes = np.array([text.get_window_extent().size for text in written])  # (M, 2)
    frame = np.array(axes.bbox.extents).reshape(2, 2)
    needed = np.array([name.needed for name in names])
    offsets = place_names(anchors, sizes, axes.transData.transform(places), frame, needed)  # (M, 2)
    for name, text, size, offset in zip(names, written, sizes, offsets, strict=True):
        if np.isnan(offset).any():
            text.remove()
            continue
        text.set_position(offset * 72 / figure.dpi)
        if (np.abs(offset) > size / 2 + FAR).any():
            edge = np.clip(-offset, -size / 2, size / 2) + offset  # the point of the box nearest to what it names
            line: Any = {"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
            at = edge * 72 / figure.dpi
            axes.annotate("", name.place, at, textcoords="offset points", arrowprops=line, zorder=3)


def _darker(colour: str) -> tuple[float, ...]:
    """The colour as it can be read in small letters on white."""
    return tuple(0.6 * part for part in to_rgb(colour))
