"""The start page, and the page that says why a run cannot be shown."""

from __future__ import annotations

from functools import cache
from importlib import resources

from markupsafe import escape

from subtaxa.data.readers import KINDS
from subtaxa.report.page import read_asset
from subtaxa.settings import PRESETS


@cache
def asset(name: str) -> str:
    """One of the files of the start page."""
    return resources.files("subtaxa.app").joinpath("start", name).read_text("utf-8").replace("\r\n", "\n")


def style() -> str:
    """The style of the start page."""
    return read_asset("page.css") + asset("start.css")


@cache
def start_page() -> str:
    """The start page. It has no data of the user: its script asks for them."""
    endings = [f".{ending}" for ending in KINDS]
    presets = "".join(f"<option{' selected' * (name == 'default')}>{name}</option>" for name in PRESETS)
    filled = {
        "STYLE": style(),
        "SCRIPT": asset("start.js"),
        "ENDINGS": ",".join([*endings, ".gz"]),
        "KINDS": ", ".join(endings),
        "PRESETS": presets,
    }
    page = asset("start.html")
    for name, value in filled.items():
        page = page.replace(f"%{name}%", value)
    return page


def problem_page(sentence: str) -> str:
    """A page that says why a run cannot be shown."""
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>subtaxa</title><style>{style()}</style>"
    says = escape(f"{sentence[:1].upper()}{sentence[1:]}.")
    return (
        f'{head}<main><h1>This run cannot be shown</h1><p class="problem" role="alert">{says}</p>'
        '<p><a href="/">All runs</a></p></main>'
    )
