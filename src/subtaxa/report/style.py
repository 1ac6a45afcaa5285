"""The style of all figures.

The colours are Okabe and Ito's, which colour-blind people can tell apart. Each curve also has its own marker and line
style, so that a figure can be read without colour. No text is smaller than 8 points.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.errors import SubtaxaError
from subtaxa.runtime.atomic_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#0072B2", "#D55E00", "#CC79A7"),
)
COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK)  # Without yellow, which is too faint on white.
MARKERS = ("o", "^", "s", "X", "v", "D", "<", "P")  # 8 markers and 7 colours give 56 different pairs.
CURVES = ((BLUE, "o", "-"), (RED, "^", "--"), (GREEN, "s", "-."), (BLACK, "D", ":"))  # Colour, marker and line style.
PAGE_WIDTH, COLUMN_WIDTH, ROW_HEIGHT = 6.9, 3.6, 2.3  # In inches.
POINTS = 8.0  # Size of the smallest text.
MAX_COLUMNS = 3  # Panels side by side.
MISSING = "figures need matplotlib: pip install 'subtaxa[plots]'"
SETTINGS: Any = {  # Any, because matplotlib declares a literal type for each key.
    "font.size": POINTS,
    "axes.titlesize": POINTS + 1,
    "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS,
    "ytick.labelsize": POINTS,
    "legend.fontsize": POINTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "text.parse_math": False,  # A dollar sign in a name stays a dollar sign.
    "text.usetex": False,
}
PRINTED: Any = {
    "font.family": "DejaVu Sans",  # It comes with matplotlib, so it is the same everywhere.
    "svg.fonttype": "none",  # Text stays text.
    "svg.hashsalt": "subtaxa",  # Without a fixed salt, the ids differ each time.
}


@contextmanager
def styled() -> Iterator[None]:
    """Use our style in place of the user's, or say what to install if matplotlib is missing."""
    try:
        import matplotlib
    except ImportError as error:
        raise SubtaxaError(MISSING) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS | PRINTED)
        yield


def panels(titles: list[str], y: str, x: str, small_print: str) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each title, axis labels at its edges, and small print below."""
    columns = min(len(titles), MAX_COLUMNS)
    rows = -(-len(titles) // columns)
    figure = canvas(COLUMN_WIDTH if columns == 1 else PAGE_WIDTH, ROW_HEIGHT * rows + 0.3, small_print)
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.flat)
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title, loc="left", fontweight="bold")
        panel.set_xlabel(x)
    for panel in axes[len(titles) :]:
        panel.set_visible(False)
    for row in grid:
        row[0].set_ylabel(y)
    return figure, axes[: len(titles)]


def canvas(width: float, height: float, small_print: str) -> Figure:
    """An empty figure with small print at the bottom."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = _wrapped(small_print, 0.95 * width)  # A viewer may show an .svg in a wider font.
    below = (len(lines) * 1.25 + 0.7) * POINTS / 72  # In inches.
    share = below / (height + below)
    figure = Figure((width, height + below), layout=ConstrainedLayoutEngine(rect=(0, share, 1, 1 - share)))
    figure.text(0.06 / width, 0.04 / (height + below), "\n".join(lines), color="#555555", fontsize=POINTS, va="bottom")
    return figure


def _wrapped(text: str, width: float) -> list[str]:
    """Lines of at most this width in inches. A word too long for a line is broken, after a / or _ if possible."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=POINTS)

    def fits(line: str) -> bool:
        return text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] <= 72 * width

    lines = [""]
    for word in text.split():
        ways = [word], re.split("(?<=[/_])", word), list(word)
        first, *rest = next(way for way in ways if all(map(fits, way)))
        for part in (f" {first}", *rest):
            longer = (lines[-1] + part).lstrip()
            if fits(longer):
                lines[-1] = longer
            else:
                lines.append(part.lstrip())
    return lines


def legend(figure: Figure, handles: list[Any], **more: Any) -> None:
    """One legend for all panels, above them."""
    figure.legend(handles=handles, loc="outside upper center", frameon=False, **more)


def save(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as .svg and .png. The same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=200, metadata=metadata)
        target = path.with_name(f"{path.name}.{kind}")
        write_whole(target, out.getvalue())
        written.append(target)
    return written
