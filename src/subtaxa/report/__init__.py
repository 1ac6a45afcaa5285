"""The report of a run: one self-contained HTML page without scripts and without anything from the network."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import resources
from itertools import accumulate
from numbers import Integral, Real

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from subtaxa.how_many import Choice
from subtaxa.number_lines import plausible
from subtaxa.taxonomy import Category, Taxonomy

__all__ = ["ReportData", "render_report"]

# What may not stand in an HTML file: control characters, lone surrogates, noncharacters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_PALETTE_SIZE = 8  # the classes k0 to k7 of page.css
_NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class ReportData:
    """Everything the report shows."""

    title: str
    taxonomy: Taxonomy
    n_texts: int
    n_skipped: int
    n_outliers: int
    mean_confidence: float
    confidences: Mapping[int, float]  # by category id
    borderline: Mapping[int, Sequence[str]]  # by category id: its least certain texts
    numbers: Mapping[str, Choice]  # by label: how many categories it has and could have
    history: Sequence[Mapping[str, float]]  # one mapping per epoch
    settings: Mapping[str, object]
    timings: Mapping[str, float]  # seconds by stage
    versions: Mapping[str, str]
    command: str
    created: str


def render_report(data: ReportData) -> str:
    """The whole page, safe to write as UTF-8 whatever the texts and labels contain."""
    style = _read("page.css")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    page = _template().render(
        data=data,
        style=Markup(style),  # noqa: S704 - our own file
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'",
        groups=list(_groups(data)),
        columns=_columns(data.history),
        charts=list(_charts(data.history)),
        choices=list(_choices(data.numbers)),
        slowest=max(map(_number, data.timings.values()), default=0.0) or 1.0,
    )
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", page.replace("\r\n", "\n").replace("\r", "\n"))


@dataclass(frozen=True)
class _Slice:
    """A category as a part of its label: place from 1, colour, share of the label and where its bar begins."""

    category: Category
    place: int
    colour: int
    share: float
    start: float
    confidence: float | None


@dataclass(frozen=True)
class _Group:
    """A coarse label with its categories."""

    label: str
    size: int
    share: float
    slices: tuple[_Slice, ...]


@dataclass(frozen=True)
class _Chart:
    """One measure over the epochs, or over numbers of categories.

    `points` has x and y from 0 to 1 (y downwards, as in SVG) and a caption each.
    """

    name: str
    points: tuple[tuple[float, float, str], ...]
    dots: tuple[tuple[float, float, str], ...]  # the points that are marked
    low: float
    high: float
    first: tuple[float, float]  # epoch or number, value
    last: tuple[float, float]


def _groups(data: ReportData) -> Iterator[_Group]:
    everything = sum(c.size for c in data.taxonomy) or 1
    for label in data.taxonomy.parents:
        children = data.taxonomy.children(label)
        size = sum(c.size for c in children)
        shares = [c.size / (size or 1) for c in children]
        rows = zip(children, shares, accumulate(shares, initial=0.0), strict=False)
        slices = tuple(
            _Slice(c, i + 1, i % _PALETTE_SIZE, share, start, data.confidences.get(c.id))
            for i, (c, share, start) in enumerate(rows)
        )
        yield _Group(label, size, size / everything, slices)


def _columns(history: Sequence[Mapping[str, float]]) -> list[str]:
    """The keys of all epochs in order of first appearance, without the epoch itself."""
    return [key for key in dict.fromkeys(key for row in history for key in row) if key != "epoch"]


def _charts(history: Sequence[Mapping[str, float]]) -> Iterator[_Chart]:
    for key in _columns(history):
        curve = [(row.get("epoch", i), row[key]) for i, row in enumerate(history, 1) if _is_number(row.get(key))]
        if curve:
            chart = _chart(key, curve, "Epoch {}: {}")
            yield replace(chart, dots=chart.points[-1:]) if len(curve) > 40 else chart


def _choices(numbers: Mapping[str, Choice]) -> Iterator[tuple[_Chart, Choice]]:
    """The labels whose number was chosen, each with its curve."""
    for label, choice in numbers.items():
        curve = [(number, clear) for number, clear in choice.curve if _is_number(clear)]
        if curve:
            chart = _chart(label, curve, "{} categories: {}")
            marked = [point for point, (number, _) in zip(chart.points, curve, strict=True) if number == choice.chosen]
            yield replace(chart, dots=tuple(marked)), choice


def _chart(name: str, curve: Sequence[tuple[float, float]], caption: str) -> _Chart:
    places, values = zip(*curve, strict=True)
    left, right, low, high = min(places), max(places), min(values), max(values)
    points = tuple(
        (
            (place - left) / (right - left) if right > left else 0.5,
            (high - value) / (high - low) if high > low else 0.5,
            caption.format(_figure(place), _figure(value)),
        )
        for place, value in curve
    )
    return _Chart(name, points, points, low, high, curve[0], curve[-1])


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _number(value: float | None) -> float:
    """The value, or 0 where there is none that could be drawn."""
    return float(value) if value is not None and _is_number(value) else 0.0


def _cut(text: object, limit: int = 400) -> str:
    """At most `limit` characters, ended by an ellipsis, between words if possible."""
    text = str(text).strip()
    if len(text) > limit:
        head = text[: limit - 1]
        space = head.rfind(" ", limit * 9 // 10)
        text = (head[:space] if space > 0 else head).rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    return text or "(blank)"


def _percent(share: float | None) -> str:
    if share is None or not _is_number(share):
        return _NOTHING
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _figure(value: float | None) -> str:
    """A whole number with thousands separators, any other with three significant digits."""
    if value is None or not _is_number(value):
        return _NOTHING
    written = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:#.3g}"
    return written.replace("-", "\N{MINUS SIGN}")


def _seconds(value: float) -> str:
    minutes, seconds = divmod(round(_number(value)), 60)
    if minutes:
        return f"{minutes // 60:,} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {seconds:02} s"
    return f"{_number(value):.1f} s" if _number(value) >= 0.05 else "<0.1 s"


def _setting(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: _NOTHING, True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_setting(number)}" for name, number in value.items()) or _NOTHING
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(_setting, value)) or _NOTHING
    return f"{float(value):g}" if isinstance(value, Real) and not isinstance(value, Integral) else str(value)


def _read(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(cut=_cut, percent=_percent, figure=_figure, seconds=_seconds, setting=_setting)
    environment.filters["plausible"] = plausible
    environment.filters["unit"] = lambda share: min(max(_number(share), 0.0), 1.0)  # a share that can be drawn
    return environment.from_string(_read("page.html"))
