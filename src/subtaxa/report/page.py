"""The report of a run: one self-contained page that shows the categories and lets its reader correct them.

The page loads nothing from the network. Its security policy lists the digests of our own script and d3's, so that no
other script can run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report import formatting
from subtaxa.report.charts import measure, number_charts, phases
from subtaxa.report.content import Content, as_json
from subtaxa.report.text_tables import CHOICE_NOTE, SCORE_NOTE, plausible

# Control characters, lone surrogates and noncharacters, which an HTML file must not contain.
NOT_IN_HTML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SCRIPTS = (
    "dom",
    "state",
    "tree",
    "recut",
    "columns",
    "periods",
    "chance",
    "filters",
    "address",
    "filter_panel",
    "colouring",
    "corrections",
    "overview",
    "category",
    "texts",
    "map",
    "selection",
    "treemap",
    "counts",
    "time",
    "export",
    "picture",
    "app",
)
# Only in the app, which serves the page together with the run.
LIVE_SCRIPTS = ("live", "history", "questions", "similar", "quality", "new")
FORMATS = ("shorten", "format_percent", "format_number", "format_seconds", "format_setting", "format_time")


@dataclass(frozen=True)
class ReportData:
    """Everything the report shows."""

    title: str
    content: Content
    n_skipped: int
    numbers: Mapping[str, CategoryCount]  # the number of categories of each label, and how it was chosen
    history: Sequence[Mapping[str, float]]  # one mapping per epoch
    settings: Mapping[str, object]
    timings: Mapping[str, float]  # seconds by stage
    versions: Mapping[str, str]
    command: str
    created: str


def render_report(
    data: ReportData, live: Mapping[str, Any] | None = None, *, home: bool = False, framed: bool = False
) -> str:
    """The whole page, safe to write as UTF-8 whatever the texts and labels contain.

    With `live`, it is the page of the app, with these further data: corrections go to the run at once. With `home`, it
    has a link to the app's list of runs. With `framed`, its links stay in a frame that is given the page as `srcdoc`.
    """
    is_live = live is not None
    style, scripts = _style(is_live), _scripts(is_live)
    page = _template().render(
        data=data,
        live=is_live,
        home=home,
        framed=framed,
        style=Markup(style),  # noqa: S704 - our own file
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files and d3
        content=Markup(as_json(data.content, live)),  # noqa: S704 - contains no <
        policy=policy(live=is_live, framed=framed),
        mean_confidence=float(data.content.confidences.mean()) if len(data.content.texts) else None,
        phases=phases(data.history),
        number_charts=list(number_charts(data.numbers)),
        score_note=SCORE_NOTE,
        choice_note=CHOICE_NOTE,
        slowest=max(map(formatting.finite_or_zero, data.timings.values()), default=0.0) or 1.0,
    )
    return NOT_IN_HTML.sub("\N{REPLACEMENT CHARACTER}", page.replace("\r\n", "\n").replace("\r", "\n"))


def policy(*, live: bool = False, framed: bool = False) -> str:
    """The page's security policy."""
    return policy_for(_scripts(live), _style(live), live=live, base="about:" if framed else "'none'")


def policy_for(scripts: Sequence[str], style: str, *, live: bool, base: str = "'none'") -> str:
    """A security policy: only these scripts and this style and, in the app, requests only to the app itself."""
    allowed = " ".join(map(_digest, scripts))
    connect = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; {connect}"
        f"base-uri {base}; form-action 'none'"
    )


def _scripts(live: bool) -> list[str]:
    return [read_asset("vendor/d3.min.js"), _script(live)]


def _style(live: bool) -> str:
    return read_asset("page.css") + (read_asset("live.css") if live else "")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _script(live: bool) -> str:
    """Our scripts as one, wrapped so that they add no global names to the page."""
    names = (*SCRIPTS, *(LIVE_SCRIPTS if live else ()), "start")
    parts = "\n".join(read_asset(f"js/{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def read_asset(name: str) -> str:
    """One of our own files of the page."""
    return resources.files("subtaxa.report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    for name in FORMATS:
        environment.filters[name] = getattr(formatting, name)
    environment.filters["plausible"] = plausible
    environment.filters["measure_name"] = lambda key: measure(key).name
    environment.filters["clamp"] = lambda share: min(max(formatting.finite_or_zero(share), 0.0), 1.0)
    return environment.from_string(read_asset("page.html"))
