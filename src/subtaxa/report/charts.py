"""Curves of the report, over the epochs or over numbers of categories, as the template draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report.writing import figure, is_number

MANY = 40  # points; a longer curve marks its end only
ABOUT = {  # what the measures of training mean, for those who did not write it
    "loss": "what training makes small",
    "alignment": "part of the loss: how far texts are from their kept neighbours",
    "uniformity": "part of the loss: how crowded all texts are",
    "coarse": "part of the loss: how badly the label is told",
    "word_weight": "how much shared words count beside the encoder's features",
    "categories": "found in this epoch, whose texts took the place of neighbours",
    "k": "neighbours looked up for each text",
    "kept": "neighbours left for each text after the filters",
    "label_survival": "share of neighbours that have the text's own label",
    "reciprocal_survival": "share of those that have the text as a neighbour, too",
    "rank_survival": "share of those with the same strongest features",
    "retrieval_seconds": "spent on looking up neighbours",
    "seconds": "for the whole epoch",
}


@dataclass(frozen=True)
class Chart:
    """One measure over the epochs, or over numbers of categories.

    `points` has x and y from 0 to 1 (y downwards, as in SVG) and a caption each.
    """

    name: str
    about: str
    points: tuple[tuple[float, float, str], ...]
    dots: tuple[tuple[float, float, str], ...]  # the points that are marked
    low: float
    high: float
    first: tuple[float, float]  # epoch or number, value
    last: tuple[float, float]


def columns(history: Sequence[Mapping[str, float]]) -> list[str]:
    """The keys of all epochs in order of first appearance, without the epoch itself."""
    return [key for key in dict.fromkeys(key for row in history for key in row) if key != "epoch"]


def history_charts(history: Sequence[Mapping[str, float]]) -> Iterator[Chart]:
    for key in columns(history):
        curve = [(row.get("epoch", i), row[key]) for i, row in enumerate(history, 1) if is_number(row.get(key))]
        if curve:
            chart = _chart(key, curve, "Epoch {}: {}")
            yield replace(chart, dots=chart.points[-1:]) if len(curve) > MANY else chart


def choice_charts(numbers: Mapping[str, CategoryCount]) -> Iterator[tuple[Chart, CategoryCount]]:
    """The labels whose number was chosen, each with its curve."""
    for label, choice in numbers.items():
        curve = [(number, clear) for number, clear in choice.curve if is_number(clear)]
        if curve:
            chart = _chart(label, curve, "{} categories: {}")
            marked = [point for point, (number, _) in zip(chart.points, curve, strict=True) if number == choice.chosen]
            yield replace(chart, dots=tuple(marked)), choice


def _chart(name: str, curve: Sequence[tuple[float, float]], caption: str) -> Chart:
    places, values = zip(*curve, strict=True)
    left, right, low, high = min(places), max(places), min(values), max(values)
    points = tuple(
        (
            (place - left) / (right - left) if right > left else 0.5,
            (high - value) / (high - low) if high > low else 0.5,
            caption.format(figure(place), figure(value)),
        )
        for place, value in curve
    )
    return Chart(name, ABOUT.get(name, ""), points, points, low, high, curve[0], curve[-1])
