"""The comparison of two runs as one self-contained page. It has no scripts."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from subtaxa.report import formatting
from subtaxa.report.compare_flows import flows_by_label
from subtaxa.report.page import NOT_IN_HTML, policy_for, read_asset
from subtaxa.taxonomy.comparison import Comparison

MEANINGS = {
    "same": "one category corresponds to one, in both directions",
    "split": "one category of the first run corresponds to several of the second",
    "merged": "several of the first correspond to one of the second",
    "regrouped": "texts were divided in another way",
    "new": "only in the second run",
    "gone": "only in the first run",
}


def render_comparison(found: Comparison, a: str, b: str, *, home: bool = False) -> str:
    """The whole page, safe to write as UTF-8 whatever the names contain. `a` and `b` name the two runs."""
    page = _template().render(
        found=found,
        a=a,
        b=b,
        home=home,
        labels=list(flows_by_label(found)),
        meanings=MEANINGS,
        style=Markup(comparison_style()),  # noqa: S704 - our own files
        policy=policy_for([], comparison_style(), live=False),
    )
    return NOT_IN_HTML.sub("\N{REPLACEMENT CHARACTER}", page)


@cache
def comparison_style() -> str:
    """The style of the page."""
    return read_asset("page.css") + read_asset("compare.css")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shorten"] = formatting.shorten
    environment.filters["format_number"] = formatting.format_number
    return environment.from_string(read_asset("compare.html"))
