"""The report: one valid, self-contained and harmless page, whatever the data contains."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report import page as page_module
from subtaxa.report.charts import history_charts, phases
from subtaxa.report.content import Content, as_json
from subtaxa.report.page import ReportData, render_report
from subtaxa.report.text_tables import CHOICE_NOTE, SCORE_NOTE
from subtaxa.taxonomy.categories import Category, Taxonomy

D3 = "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1"
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>&amp;",
    "{{ 7*7 }}{% for x in y %}",
    "\u202eright to left\u2067",
    "bell\x07 null\x00 escape\x1b c1\x85 delete\x7f",
    "half a pair \ud800 and the other \udfff",
    "line one\r\nline two\rline three",
    "x" * 100_000,
    "many words " * 10_000,
    "",
    "javascript:alert(1)",
]


class Page(HTMLParser):
    """The elements of a page with their attributes and texts. Wrong nesting is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self) -> str:
        return "".join(text for tag, text in self.texts if tag not in ("style", "script"))

    @property
    def style(self) -> str:
        return "".join(text for tag, text in self.texts if tag == "style")


def taxonomy(*sizes: int) -> Taxonomy:
    """One label for each number, with that many categories, largest first."""
    rows = [(f"label {i}", j, n) for i, n in enumerate(sizes) for j in range(n)]
    return Taxonomy(
        tuple(
            Category(k, parent, f"name {k}", (f"word {k}", "other"), (f"example {k}",), 1 + n - j)
            for k, (parent, j, n) in enumerate(rows)
        )
    )


def content(tree: Taxonomy, text: str = "text {}") -> Content:
    ids = np.array([c.id for c in tree for _ in range(c.size)], dtype=np.int64)
    rng, n = np.random.default_rng(0), len(ids)
    return Content(
        fingerprint="abc",
        edits=0,
        taxonomy=tree,
        texts=[text.format(i) if "{}" in text else text for i in range(n)],
        rows=list(range(2, n + 2)),
        categories=ids,
        confidences=np.full(n, 0.8),
        outliers=np.arange(n) < 2,
        positions=rng.normal(size=(n, 2)).astype(np.float32),
        confused={c.id: [(c.id + 1, 0.25)] for c in tree},
    )


def report_data(tree: Taxonomy) -> ReportData:
    return ReportData(
        title="tickets.csv",
        content=content(tree),
        n_skipped=3,
        numbers={},
        history=[{"epoch": e, "alignment": 1 / e, "kept": 9.0, "seconds": float("nan")} for e in range(1, 4)],
        settings={"method": "neighbours", "rate": 2e-5, "freeze": False, "k": None, "words": ["a", "b"]},
        timings={"embed": 4.25, "train": 75.0, "write": 0.0},
        versions={"subtaxa": "0.1.0"},
        command="subtaxa run tickets.csv",
        created="2025-11-04",
    )


def hostile_data(text: str) -> ReportData:
    category = Category(0, text, text, (text, "k"), (text,), 5)
    other = Category(1, "ordinary", text, (), (), 0)
    return replace(
        report_data(taxonomy(1)),
        title=text,
        content=content(Taxonomy((category, other)), text),
        numbers={text: CategoryCount(1, 1, 1, ((1, 0.5),)), "given": CategoryCount(3, 3, 3, ())},
        history=[{text: 1.0}],
        settings={text: text, "list": [text]},
        timings={text: 1.0},
        versions={text: text},
        command=text,
        created=text,
    )


def embedded(page: Page) -> Any:
    """The data that the page's scripts use."""
    (block,) = [text for tag, text in page.texts if tag == "script" and text.startswith('{"run"')]
    return json.loads(block)


@pytest.fixture(scope="module")
def html() -> str:
    return render_report(report_data(taxonomy(3, 1, 12)))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def check_structure(page: Page) -> None:
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        if "aria-labelledby" in attributes and attributes.get("id") != "view-category":  # A script sets its title.
            assert attributes["aria-labelledby"] in ids
        if "href" in attributes and tag != "link":
            target = (attributes["href"] or "").removeprefix("#")
            assert target in ids or f"view-{target}" in ids
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def check_harmless(html: str, page: Page) -> None:
    names = [tag for tag, _ in page.elements]
    assert not {*names} & {"img", "iframe", "object", "embed", "base", "image", "use", "foreignobject"}
    assert names.count("script") == 3
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")]
    assert all(re.match("#[a-z]|data:,$", a["href"] or "") for _, a in page.elements if "href" in a)
    assert not re.search(r"(?i)url\(|@import", page.style)
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    scripts = [digest(text) for tag, text in page.texts if tag == "script" and not text.startswith("{")]
    assert policy == (
        f"default-src 'none'; script-src {' '.join(scripts)}; style-src {digest(page.style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", html)
    html.encode("utf-8")


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_every_category_and_text_is_there(page: Page) -> None:
    tree, data = taxonomy(3, 1, 12), embedded(page)
    assert [(c["id"], c["name"], c["keywords"][0], c["examples"][0]) for c in data["categories"]] == [
        (c.id, c.name, f"word {c.id}", f"example {c.id}") for c in tree
    ]
    assert data["labels"] == ["label 0", "label 1", "label 2"]
    n = sum(c.size for c in tree)
    assert data["texts"] == [f"text {i}" for i in range(n)]
    assert all(len(data[name]) == n for name in ("rows", "category", "confidence", "x", "y"))
    assert data["outliers"] == [0, 1]
    assert min(data["x"] + data["y"]) == 0
    assert max(data["x"] + data["y"]) == 9999


def test_long_texts_are_cut_so_that_the_page_stays_small() -> None:
    tree = Taxonomy((Category(0, "a", "b", (), (), 1000),))
    data = replace(report_data(tree), content=content(tree, "many words " * 10_000))
    shown = embedded(Page(render_report(data)))["texts"]
    assert {len(text) for text in shown} <= set(range(3500, 4001))
    assert all(text.endswith("…") for text in shown)
    many = Taxonomy((Category(0, "a", "b", (), (), 100_000),))
    assert max(map(len, json.loads(as_json(content(many, "word " * 1000)))["texts"])) <= 200


def test_headline_and_run_details(page: Page) -> None:
    text = re.sub(r"\s+", " ", page.text())
    assert f"16 categories in 3 labels, found in {sum(c.size for c in taxonomy(3, 1, 12))} texts." in text
    for part in ("80%", "1 min 15 s", "<0.1 s", "2e-05", "a, b", "subtaxa run tickets.csv", "2025-11-04"):
        assert part in text


def test_the_time_of_the_run_is_shown_to_the_minute() -> None:
    data = replace(report_data(taxonomy(1)), created="2026-11-18T06:17:23+01:00")
    assert "2026-11-18 05:17 UTC" in Page(render_report(data)).text()


def test_structure(page: Page) -> None:
    check_structure(page)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("nav")) == len(page.all("footer")) == 1


def test_nothing_is_loaded_from_elsewhere(html: str, page: Page) -> None:
    """Web addresses occur in d3's licence and in XML namespaces, and nowhere else."""
    check_harmless(html, page)
    ours = [text for tag, text in page.texts if "Mike Bostock" not in text[:200]]
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)", "".join(ours))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text(text: str) -> None:
    html = render_report(hostile_data(text))
    page = Page(html)
    check_structure(page)
    check_harmless(html, page)
    assert len(html) < 500_000
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", shown)
    assert (shown if len(shown) < 100 else shown[:300]) in page.text()
    (kept,) = set(embedded(page)["texts"])
    assert kept[:100].split() == (re.sub("[\x7f-\x9f\ud800-\udfff]", "\ufffd", text)[:100].split() or ["(blank)"])
    if not text:
        assert "(blank)" in page.text()
    if len(text) > 400:
        assert max(len(shown) for tag, shown in page.texts if tag not in ("style", "code", "script")) <= 400
        assert "\N{HORIZONTAL ELLIPSIS}" in page.text()


def test_user_text_is_isolated(html: str) -> None:
    assert 'dir="auto">tickets.csv<' in html


def test_the_bundled_d3_is_the_published_one() -> None:
    """The bundled file is version 7.9.2 from the registry, with its licence next to it."""
    vendor = Path(page_module.__file__).parent / "vendor"
    assert hashlib.sha256((vendor / "d3.min.js").read_bytes()).hexdigest() == D3
    assert "Permission to use, copy, modify" in (vendor / "d3.LICENSE").read_text("utf-8")


def test_charts(page: Page) -> None:
    assert len(page.all("polyline")) == 1  # "kept" never changes, and "seconds" has no finite value.
    assert "nan" not in page.text()
    assert len(page.all("circle")) == 3
    assert "Alignment loss" in page.text()
    assert "Neighbours kept" in page.text()  # It is in the table of all values.


def test_measures_that_never_change_or_do_not_concern_a_reader_have_no_chart() -> None:
    history = [
        {"epoch": e, "loss": 1 / e, "k": 27, "word_weight": 0.0, "even": float(e > 1), "my_own_measure": e % 2}
        for e in range(1, 5)
    ]
    assert [chart.name for chart in history_charts(history)] == ["Loss", "My own measure"]
    assert [chart.about for chart in history_charts(history)] == ["What training minimises.", ""]
    changing = [{**row, "word_weight": row["epoch"] / 10} for row in history]
    assert "Word weight" in [chart.name for chart in history_charts(changing)]
    shown = Page(render_report(replace(report_data(taxonomy(1)), history=history))).text()
    assert "even" not in {word for word in shown.split() if word.islower()}


def test_pretraining_has_charts_of_its_own() -> None:
    """The epochs of both count from one, so on a shared axis the line would run backwards."""
    history = [{"pretraining": 1.0, "epoch": e, "coarse": 1 / e, "seconds": e} for e in range(1, 6)]
    history += [{"epoch": e, "alignment": 1 / e, "seconds": 2 * e} for e in range(1, 4)]
    first, second = phases(history)
    assert [chart.name for chart in first.charts] == ["Label loss", "Epoch (seconds)"]
    assert [chart.name for chart in second.charts] == ["Alignment loss", "Epoch (seconds)"]
    for chart in (*first.charts, *second.charts):
        assert all(before[0] < after[0] for before, after in pairwise(chart.points))
    page = Page(render_report(replace(report_data(taxonomy(1)), history=history)))
    check_structure(page)
    assert "Pretraining on the coarse labels" in page.text()


@pytest.mark.parametrize(
    ("sizes", "epochs"), [((1,), 0), ((1,), 1), ((2,), 200), ((150,), 0), ((1,) * 30, 2), ((), 0)], ids=str
)
def test_extreme_sizes(sizes: tuple[int, ...], epochs: int) -> None:
    history = [{"loss": 0.5 ** min(e, 60)} if e % 2 else {"other": e} for e in range(epochs)]
    data = replace(report_data(taxonomy(*sizes)), history=history, timings={})
    page = Page(render_report(data))
    check_structure(page)
    assert ("no training history" in page.text()) is (epochs == 0)
    assert len(page.all("circle")) == min(epochs, 2)  # A long curve has only its end marked.


def test_numpy_numbers_are_numbers() -> None:
    data = report_data(taxonomy(1))
    data = replace(
        data,
        history=[{"epoch": np.int64(1), "loss": np.float32(0.25)}],
        settings={"rate": np.float32(0.5)},
    )
    page = Page(render_report(data))
    assert len(page.all("polyline")) == 1
    assert "0.250" in page.text()


def test_each_label_has_the_curve_behind_its_number() -> None:
    data = report_data(taxonomy(2, 3))
    numbers = {"label 0": CategoryCount(2, 1, 4, ((1, 0.2), (2, 0.6), (4, 0.5))), "label 1": CategoryCount(3, 3, 3, ())}
    without, page = Page(render_report(data)), Page(render_report(replace(data, numbers=numbers)))
    assert len(page.all("polyline")) == 1 + len(without.all("polyline"))
    assert len(page.all("circle")) == 1 + len(without.all("circle"))  # Only the chosen number is marked.
    assert "plausible 1 to 4" in page.text()
    assert "2 categories: score 0.600" in page.text()
    assert "How many categories" not in without.text()


def test_the_page_says_what_is_plotted_and_why_the_dot_is_not_always_at_the_peak() -> None:
    numbers = {"label 0": CategoryCount(1, 1, 4, ((1, 0.2), (2, 0.6), (4, 0.5)))}
    shown = " ".join(Page(render_report(replace(report_data(taxonomy(2)), numbers=numbers))).text().split())
    assert SCORE_NOTE in shown
    assert CHOICE_NOTE in shown
    assert "mean silhouette" in SCORE_NOTE
    assert "subtaxa recut" in CHOICE_NOTE
