"""Figures for notebooks: the map of the texts, the sizes of the categories, the history of the training.

N texts, K categories, G groups that share a colour, D dimensions.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
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

# The last colour is grey: black points would hide the names.
PALETTE = (*style.COLOURS[:-1], "#777777")
# Categories of a label share one name on the map if they are closer than this share of its width.
CLOSE = 0.18
# A category's name stands where most of its texts lie within this share of the map's width.
AROUND = 0.03
# A line connects a name to its point if they are more than this many pixels apart.
FAR = 8.0
# The longest name, in characters.
LONGEST = 42
WORDS = {"kept": "neighbours kept", "k": "neighbours retrieved", "score": "score on texts held out"}
CAPTION = "similar texts lie close together; the axes have no meaning"
ASIDE = ("epoch", "pretraining", "seconds", "retrieval_seconds")


class Picture(Figure):
    """A figure that notebooks display without pyplot."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=130)
        return out.getvalue()


@dataclass(frozen=True)
class Name:
    """A name on the map: its text, position and colour group, and how many texts it stands for."""

    text: str
    place: tuple[float, float]
    group: int
    texts: int
    heading: bool = False  # written larger
    needed: bool = False  # written even if there is little space


def plot_map(state: FittedState, color: str = "label", ax: Axes | None = None) -> Figure:
    """Plot all texts on a plane, with the names of their labels or categories. Close groups have different colours."""
    if color not in ("label", "category"):
        raise SettingError(f"color is {color!r}: it must be 'label' or 'category'")
    spots, place = spots_of(state), state.category_index  # (K, 2), (N,)
    owner = state.clusters.parents if color == "label" else np.arange(len(spots))  # (K,)
    colours = colours_of(spots, owner, np.bincount(owner[place]))  # (G,)
    names = _label_names(state, spots) if color == "label" else _category_names(state, spots)
    count = f"{len(place):,} texts, {len(spots):,} categories of {len(state.coarse_labels):,} labels"
    with in_style():
        figure, axes = canvas(ax, 8.0, 7.5)
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
    """Plot the number of texts in each category, grouped by label."""
    taxonomy = state.taxonomy
    parents = state.clusters.parents  # (K,)
    colours = colours_of(spots_of(state), parents, np.bincount(parents[state.category_index]))
    rows: list[tuple[str, int | None, str]] = []  # (name, size, colour), where a label has no size
    for parent, colour in zip(taxonomy.parents, colours, strict=True):
        rows.append((written(parent), None, colour))
        rows += [(written(c.name), c.size, colour) for c in taxonomy.children(parent)]
    with in_style():
        figure, axes = canvas(ax, 6.5, 0.7 + 0.17 * len(rows))
        bars = [(y, size, colour) for y, (_, size, colour) in enumerate(rows) if size is not None]
        height, width, shades = zip(*bars, strict=True)
        drawn = axes.barh(height, width, color=shades, height=0.75)
        axes.bar_label(drawn, [f"{size:,}" for size in width], padding=3, color="#444444")
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], parse_math=False)
        for tick, (_, size, _) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if size is None else "normal")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel="texts")
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.08)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    return figure


def plot_history(state: FittedState) -> Figure:
    """Plot what was measured in each epoch, one panel per quantity. Pretraining is shaded."""
    history = state.history
    keys = [key for key in dict.fromkeys(key for row in history for key in row) if key not in ASIDE]
    if not keys:
        raise InputError("this run has no history to plot: it was not trained, see `settings_.epochs`")
    before = sum(bool(row.get("pretraining")) for row in history)
    columns = 2 if len(keys) == 4 else min(len(keys), style.MAX_COLUMNS)
    rows = -(-len(keys) // columns)
    with in_style():
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


def in_style() -> AbstractContextManager[None]:
    """The settings of our figures, while one is drawn."""
    return matplotlib.rc_context(style.SETTINGS)


def canvas(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    """The caller's axes and their figure, or new ones."""
    if ax is not None:
        return ax.figure.figure, ax
    figure = Picture((width, height), layout="constrained")
    return figure, figure.subplots()


def written(text: str) -> str:
    """A text as a name in a figure: one short line of printable characters."""
    text = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def spots_of(state: FittedState) -> Floats:
    """For each category, the position (K, 2) on the map with the most of its texts nearby."""
    place, near, spots = state.category_index, AROUND * np.ptp(state.map), []
    for i in range(len(state.taxonomy)):
        own = state.map[place == i]  # (n, 2)
        spots.append(own[KDTree(own).query_ball_point(own, near, return_length=True).argmax()])
    return np.stack(spots)


def colours_of(spots: Floats, owner: Ints, texts: Ints) -> list[str]:
    """A colour for each group (G), largest first: the one whose other groups are farthest away."""
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
        Name(written(c.name), (x, y), i, c.size)
        for i, ((x, y), c) in enumerate(zip(spots, state.taxonomy, strict=True))
    ]


def _label_names(state: FittedState, spots: Floats) -> list[Name]:
    """The name of each label, once per group of close categories. The name of the largest group is always written."""
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
            names.append(Name(written(text), (x, y), label, int(texts[one]), True, one == texts.argmax()))
    return names


def _write(axes: Axes, names: Sequence[Name], colours: Sequence[str], places: Floats) -> None:
    """Write names on the map where there is space, with a line to the point if that is some distance away."""
    figure = axes.figure.figure
    figure.draw_without_rendering()  # This computes the layout.
    halo = [withStroke(linewidth=2.5, foreground="white")]
    drawn = [
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
    sizes = np.array([text.get_window_extent().size for text in drawn])  # (M, 2)
    frame = np.array(axes.bbox.extents).reshape(2, 2)
    needed = np.array([name.needed for name in names])
    offsets = place_names(anchors, sizes, axes.transData.transform(places), frame, needed)  # (M, 2)
    for name, text, size, offset in zip(names, drawn, sizes, offsets, strict=True):
        if np.isnan(offset).any():
            text.remove()
            continue
        text.set_position(offset * 72 / figure.dpi)
        if (np.abs(offset) > size / 2 + FAR).any():
            edge = np.clip(-offset, -size / 2, size / 2) + offset  # the point of the box nearest to the named point
            line: Any = {"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
            at = edge * 72 / figure.dpi
            axes.annotate("", name.place, at, textcoords="offset points", arrowprops=line, zorder=3)


def _darker(colour: str) -> tuple[float, ...]:
    """A darker shade of the colour, readable as small letters on white."""
    return tuple(0.6 * part for part in to_rgb(colour))
