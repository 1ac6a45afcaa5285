"""How every figure looks: Okabe and Ito's colours, which colour-blind people tell apart, with a marker and a line style
of their own for each curve, so that a print without colour can be read too. No text is smaller than 8 points."""

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
COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK)  # without the yellow, which white paper swallows
MARKERS = ("o", "^", "s", "X", "v", "D", "<", "P")  # 8 beside 7 colours: 56 pairs before the first comes again
CURVES = ((BLUE, "o", "-"), (RED, "^", "--"), (GREEN, "s", "-."), (BLACK, "D", ":"))  # colour, marker, line
WIDE, NARROW, ROW = 6.9, 3.6, 2.3  # inches: a page, a column of it, the height of a row of panels
POINTS = 8.0  # of the smallest text
COLUMNS = 3
MISSING = "figures need matplotlib: pip install 'subtaxa[plots]'"
SETTINGS: Any = {  # matplotlib would have each key as a type of its own
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
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.usetex": False,
}
PRINTED: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "subtaxa",  # or each drawing would have other ids
}


@contextmanager
def styled() -> Iterator[None]:
    """Our style and nothing of the user's for a while; says what to install if there is no matplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise SubtaxaError(MISSING) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS | PRINTED)
        yield


def panels(titles: list[str], y: str, x: str, small_print: str) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each title, labelled at its edges, and the runs below in small print."""
    columns = min(len(titles), COLUMNS)
    rows = -(-len(titles) // columns)
    figure = canvas(NARROW if columns == 1 else WIDE, ROW * rows + 0.3, small_print)
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
    """An empty figure that leaves room at the bottom for its small print."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = _folded(small_print, 0.95 * width)  # an .svg may be shown in a wider font
    below = (len(lines) * 1.25 + 0.7) * POINTS / 72  # inches
    share = below / (height + below)
    figure = Figure((width, height + below), layout=ConstrainedLayoutEngine(rect=(0, share, 1, 1 - share)))
    figure.text(0.06 / width, 0.04 / (height + below), "\n".join(lines), color="#555555", fontsize=POINTS, va="bottom")
    return figure


def _folded(text: str, width: float) -> list[str]:
    """Lines of at most so many inches. A word too long for a line goes on in the next, after a / or _ if it can."""
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
    """The figure as .svg and .png, the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=200, metadata=metadata)
        target = path.with_name(f"{path.name}.{kind}")
        write_whole(target, out.getvalue())
        written.append(target)
    return written
