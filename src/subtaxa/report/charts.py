"""Line charts of the report: training measures by epoch, and the score of each number of categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report.formatting import format_number, is_finite_number

MAX_DOTS = 40  # A longer line marks its last point only.

History = Sequence[Mapping[str, float]]


class Measure(NamedTuple):
    """The name of a measure, with its unit, and one line of explanation."""

    name: str
    about: str


MEASURES = {
    "loss": Measure("Loss", "What training minimises."),
    "alignment": Measure("Alignment loss", "Falls as texts move towards their neighbours."),
    "uniformity": Measure("Uniformity loss", "Falls as texts spread out, rises as they draw together."),
    "divergence": Measure("Divergence loss", "Falls as texts come to be distributed like their neighbours."),
    "contrastive": Measure("Contrastive loss", "Falls as texts become more similar to their positives than to others."),
    "contrast": Measure("Contrastive loss", "Falls as texts become more similar to their positives than to others."),
    "coarse": Measure("Label loss", "Cross-entropy of predicting the coarse label."),
    "projected_coarse": Measure("Projected label loss", "Cross-entropy of predicting the label after projection."),
    "pseudo": Measure("Cluster loss", "Cross-entropy of predicting the cluster of a text."),
    "mlm": Measure("Masked-token loss", "Cross-entropy of predicting masked tokens."),
    "score": Measure("Validation score", "The epoch with the highest score is kept."),
    "word_weight": Measure("Word weight", "How much shared words count beside the encoder's features."),
    "clusters": Measure("Clusters", "Clusters that have at least one text."),
    "categories": Measure("Categories", "Categories found in this epoch."),
    "k": Measure("Neighbours retrieved", "Neighbours looked up per text."),
    "kept": Measure("Neighbours kept", "Neighbours per text that are left after all filters."),
    "label_survival": Measure("Label filter", "Share of neighbours it keeps: those with the label of the text."),
    "reciprocal_survival": Measure(
        "Reciprocal filter", "Share of neighbours it keeps: those that have the text among their own neighbours."
    ),
    "rank_survival": Measure("Rank filter", "Share of neighbours it keeps: those with the same strongest features."),
    "retrieval_seconds": Measure("Neighbour search (seconds)", "Time to find the neighbours of all texts."),
    "seconds": Measure("Epoch (seconds)", "Time for the whole epoch."),
}
INTERNAL = ("epoch", "pretraining", "even", "balanced", "none")


@dataclass(frozen=True)
class Chart:
    """One measure by epoch, or the score of a label by number of categories.

    A point has x and y from 0 to 1 (y downwards, as in SVG) and a caption.
    """

    name: str
    about: str
    points: tuple[tuple[float, float, str], ...]
    dots: tuple[tuple[float, float, str], ...]  # the points that are marked
    low: float
    high: float
    first: tuple[float, float]  # epoch or number, value
    last: tuple[float, float]


@dataclass(frozen=True)
class Phase:
    """A stretch of training whose epochs are counted from one: pretraining, or training itself."""

    name: str
    history: History
    columns: tuple[str, ...]  # the keys of the history that a reader can use
    charts: tuple[Chart, ...]


def phases(history: History) -> list[Phase]:
    """The phases of training that took place, in order."""
    pretraining = [row for row in history if row.get("pretraining")]
    training = [row for row in history if not row.get("pretraining")]
    parts = {"Pretraining on the coarse labels": pretraining, "Training": training}
    return [
        Phase(name, rows, tuple(columns(rows)), tuple(history_charts(rows))) for name, rows in parts.items() if rows
    ]


def columns(history: History) -> list[str]:
    """The keys of all epochs in order of first appearance, without those that only the program uses."""
    return [key for key in dict.fromkeys(key for row in history for key in row) if key not in INTERNAL]


def measure(key: str) -> Measure:
    """The name and the explanation of a key of the history; a method of a user's own may have keys of its own."""
    words = key.replace("_", " ")
    return MEASURES.get(key, Measure(words[:1].upper() + words[1:], ""))


def history_charts(history: History) -> Iterator[Chart]:
    """A chart of each measure that changes from epoch to epoch; of a single epoch, a chart of each measure."""
    for key in columns(history):
        curve = [(row.get("epoch", i), row[key]) for i, row in enumerate(history, 1) if is_finite_number(row.get(key))]
        if not curve or (len(curve) > 1 and len({value for _, value in curve}) == 1):
            continue
        chart = _chart(*measure(key), curve, "Epoch {}: {}")
        yield replace(chart, dots=chart.points[-1:]) if len(curve) > MAX_DOTS else chart


def number_charts(numbers: Mapping[str, CategoryCount]) -> Iterator[tuple[Chart, CategoryCount]]:
    """A chart of each label whose number was estimated; the chosen number is marked."""
    for label, count in numbers.items():
        curve = [(number, score) for number, score in count.curve if is_finite_number(score)]
        if curve:
            chart = _chart(label, "", curve, "{} categories: score {}")
            marked = [point for point, (number, _) in zip(chart.points, curve, strict=True) if number == count.chosen]
            yield replace(chart, dots=tuple(marked)), count


def _chart(name: str, about: str, curve: Sequence[tuple[float, float]], caption: str) -> Chart:
    xs, ys = zip(*curve, strict=True)
    left, right, low, high = min(xs), max(xs), min(ys), max(ys)
    points = tuple(
        (
            (x - left) / (right - left) if right > left else 0.5,
            (high - y) / (high - low) if high > low else 0.5,
            caption.format(format_number(x), format_number(y)),
        )
        for x, y in curve
    )
    return Chart(name, about, points, points, low, high, curve[0], curve[-1])
