"""A figure for notebooks: how similar the categories of each label are, as a tree.

K categories, k of a label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage

from subtaxa.report.plots import canvas, colours_of, in_style, spots_of, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from subtaxa.taxonomy.fitted_state import FittedState


def plot_tree(state: FittedState, ax: Axes | None = None) -> Figure:
    """Plot a tree of the categories of each label: the sooner two are joined, the more similar their texts are."""
    parents, centroids = state.clusters.parents, state.clusters.centroids  # (K,), (K, D)
    colours = colours_of(spots_of(state), parents, np.bincount(parents[state.category_index]))
    categories = list(state.taxonomy)
    rows: list[str] = []
    bold: list[int] = []
    with in_style():
        figure, axes = canvas(ax, 6.5, 0.7 + 0.19 * (len(categories) + len(colours)))
        for label, (name, colour) in enumerate(zip(state.coarse_labels, colours, strict=True)):
            own = np.flatnonzero(parents == label)  # (k,)
            bold.append(len(rows))
            rows.append(written(name))
            order = [0]
            if len(own) > 1:
                joined = linkage(centroids[own], "average", "cosine", optimal_ordering=True)
                found = dendrogram(joined, no_plot=True)
                order = found["leaves"]
                for at, height in zip(found["icoord"], found["dcoord"], strict=True):
                    # scipy puts the leaves at 5, 15, 25 and so on.
                    axes.plot(height, [len(rows) + (place - 5) / 10 for place in at], color=colour)
            else:
                axes.plot([0.0], [len(rows)], color=colour, marker="o")
            rows += [f"{written(categories[own[i]].name)} ({categories[own[i]].size:,})" for i in order]
        axes.set_yticks(range(len(rows)), rows, parse_math=False)
        for number, tick in enumerate(axes.get_yticklabels()):
            tick.set_fontweight("bold" if number in bold else "normal")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel="distance between the texts (1 − cosine similarity)")
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlim(left=0.0)
    return figure
