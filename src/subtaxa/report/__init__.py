"""The report of a run: one self-contained page that shows the categories and lets its reader correct them.

Nothing is loaded from the network, and no script runs but our own and d3's, whose digests the page's policy names.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report import writing
from subtaxa.report.charts import choice_charts, columns, history_charts
from subtaxa.report.content import Content, as_json
from subtaxa.report.text_tables import plausible

__all__ = ["Content", "ReportData", "render_report"]

# What may not stand in an HTML file: control characters, lone surrogates, noncharacters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SCRIPTS = ("dom", "state", "corrections", "overview", "category", "texts", "map", "selection", "export", "app")


@dataclass(frozen=True)
class ReportData:
    """Everything the report shows."""

    title: str
    content: Content
    n_skipped: int
    numbers: Mapping[str, CategoryCount]  # by label: how many categories it has and could have
    history: Sequence[Mapping[str, float]]  # one mapping per epoch
    settings: Mapping[str, object]
    timings: Mapping[str, float]  # seconds by stage
    versions: Mapping[str, str]
    command: str
    created: str


def render_report(data: ReportData) -> str:
    """The whole page, safe to write as UTF-8 whatever the texts and labels contain."""
    style, scripts = _read("page.css"), [_read("vendor/d3.min.js"), _script()]
    allowed = " ".join(map(_digest, scripts))
    page = _template().render(
        data=data,
        style=Markup(style),  # noqa: S704 - our own file
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files and d3
        content=Markup(as_json(data.content)),  # noqa: S704 - without any <
        policy=f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        mean_confidence=float(data.content.confidences.mean()) if len(data.content.texts) else None,
        columns=columns(data.history),
        charts=list(history_charts(data.history)),
        choices=list(choice_charts(data.numbers)),
        slowest=max(map(writing.number, data.timings.values()), default=0.0) or 1.0,
    )
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", page.replace("\r\n", "\n").replace("\r", "\n"))


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _script() -> str:
    """Our scripts as one, with nothing left in the page's own namespace."""
    parts = "\n".join(_read(f"js/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def _read(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    for name in ("cut", "percent", "figure", "seconds", "setting"):
        environment.filters[name] = getattr(writing, name)
    environment.filters["plausible"] = plausible
    environment.filters["unit"] = lambda share: min(max(writing.number(share), 0.0), 1.0)  # a share that can be drawn
    return environment.from_string(_read("page.html"))
