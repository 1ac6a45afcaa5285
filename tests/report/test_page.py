"""The report in a real browser: reading, searching and correcting it, and applying the corrections to the run."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import Reader, serious_problems
from helpers.corpus import planted_corpus
from playwright.sync_api import expect

from subtaxa import report
from subtaxa.cli.main import main
from subtaxa.data import tables
from subtaxa.discovery import Discovery
from subtaxa.runs import layout, reading
from subtaxa.taxonomy.categories import Taxonomy

TEXTS, LABELS, _ = planted_corpus(per_topic=25)
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"'><svg onload=alert(3)>",
    "=HYPERLINK(1)",
    "\u202eright to left\u2067 refund",
    "refund " * 15_000,
    "x" * 100_000,
    "${alert(4)} {{ 7*7 }}",
]


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "run"
    return Discovery("auto", **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


@pytest.fixture(scope="module")
def taxonomy(saved: Path) -> Taxonomy:
    return reading.read_taxonomy(saved)


@pytest.fixture
def reader(browser: Any, run: Path) -> Iterator[Reader]:
    opened = Reader(browser, run / layout.REPORT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def unchanged(browser: Any, saved: Path) -> Iterator[Reader]:
    """A page for tests that end with the page as it was."""
    opened = Reader(browser, saved / layout.REPORT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def hostile(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose texts and labels try to inject HTML and scripts."""
    texts, labels = [*TEXTS, *HOSTILE], [*LABELS, *["money"] * len(HOSTILE)]
    renamed = {"money": "</script><script>alert(5)</script>", "access": "=1+1 \u202e", "post": "y" * 5_000}
    model = Discovery(7, **quick).fit(texts, [renamed[label] for label in labels])  # type: ignore[arg-type]
    model.taxonomy_.rename(model.taxonomy_[0].id, "<b onclick=alert(6)>bold</b>")
    return model.save(tmp_path_factory.mktemp("hostile") / "run")


def two_siblings(taxonomy: Taxonomy) -> tuple[Any, Any]:
    parent = next(p for p in taxonomy.parents if len(taxonomy.children(p)) > 1)
    first, second = taxonomy.children(parent)[:2]
    return first, second


def test_every_category_is_in_the_tree(reader: Reader, taxonomy: Taxonomy) -> None:
    assert reader.names() == [c.name for c in taxonomy]
    assert reader.page.locator("#tree .bar a").count() == len(taxonomy)
    assert reader.page.locator("#count").inner_text() == str(len(taxonomy))


def test_search_sort_and_keys(reader: Reader, taxonomy: Taxonomy) -> None:
    page = reader.page
    page.keyboard.press("/")
    page.keyboard.insert_text("parcel courier")  # At once, because a half-typed query would be searched too.
    expect(page.locator("#matches")).not_to_be_empty()
    with_both = {label for text, label in zip(TEXTS, LABELS, strict=True) if {"parcel", "courier"} <= set(text.split())}
    assert with_both == {"post"}
    assert set(reader.names()) == {c.name for c in taxonomy.children("post")}
    page.locator("#search").fill("")
    expect(page.locator("#matches")).to_be_empty()
    page.locator("#sort").select_option("name")
    assert reader.names() == [
        c.name for p in taxonomy.parents for c in sorted(taxonomy.children(p), key=lambda c: c.name.casefold())
    ]
    page.locator("#tree button.fold").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == reader.names()[0]
    page.keyboard.press("Enter")
    page.wait_for_selector("#category-title")
    reader.go("Overview")
    page.locator("#tree button.fold").first.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert len(reader.names()) == len(taxonomy) - len(taxonomy.children(taxonomy.parents[0]))
    page.locator("#fold").click()
    assert reader.names() == []


def test_map_hover_click_and_lasso(reader: Reader, saved: Path, taxonomy: Taxonomy) -> None:
    page, model = reader.page, Discovery.load(saved)
    reader.go("Map")
    expect(page.locator("#canvas")).to_have_attribute("data-names", re.compile("[1-9]"))
    colours = page.evaluate(
        """() => {
          const canvas = document.getElementById("canvas"), found = new Set();
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 190) found.add(pixels.slice(i, i + 3).join());
          return found.size;
        }"""
    )
    assert colours > 3
    page.mouse.move(*reader.position(5))
    page.wait_for_selector("#tip:not([hidden])")
    near = page.locator("#tip p").first.inner_text()
    assert near in model.data_.texts
    page.mouse.click(*reader.position(5))
    category = taxonomy.by_id()[int(model.labels_[model.data_.texts.index(near)])]
    assert page.locator("#selected h3 a").inner_text() == category.name
    page.get_by_label("Lasso").check()
    box = page.locator("#canvas").bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in [*corners[1:], corners[0]]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    assert page.locator("#selected h3").inner_text() == f"{len(TEXTS)} texts selected"
    page.locator("#shown").select_option(label="post")
    page.locator("#find").fill("parcel")
    page.locator("#canvas").press("+")
    page.locator("#canvas").press("0")


def test_a_category_shows_its_texts(reader: Reader, saved: Path, taxonomy: Taxonomy) -> None:
    page, model, category = reader.page, Discovery.load(saved), taxonomy[0]
    reader.open(category.name)
    assert page.locator("#category-title bdi").inner_text() == category.name
    own = [text for text, i in zip(model.data_.texts, model.labels_, strict=True) if i == category.id]
    assert sorted(page.locator("#texts li bdi").all_inner_texts()) == sorted(own)
    word = own[0].split()[0]
    page.locator("#text-search").fill(word)
    expect(page.locator("#texts [role=status]")).not_to_be_empty()
    assert sorted(page.locator("#texts li bdi").all_inner_texts()) == sorted(t for t in own if word in t)
    assert page.locator(".chips").first.inner_text().split("\n") == list(category.keywords)
    page.locator("#go").select_option(str(taxonomy[-1].id))
    expect(page.locator("#category-title bdi")).to_have_text(taxonomy[-1].name)


def correct(reader: Reader, taxonomy: Taxonomy) -> None:
    """Rename, merge, split and mark texts as wrong, as a reader would."""
    page, (first, second) = reader.page, two_siblings(taxonomy)
    reader.open(first.name)
    page.locator("#new-name").fill(second.name)
    page.get_by_role("button", name="Rename").click()
    assert "already" in page.locator(".correct .problem").inner_text()
    page.locator("#new-name").fill("my own name")
    page.get_by_role("button", name="Rename").click()
    assert page.locator("#category-title bdi").inner_text() == "my own name"
    assert page.locator("#view-category .eyebrow").inner_text().endswith("named by you")
    page.locator("#texts li input").first.check()
    page.locator("#mark").click()
    assert page.locator("#texts li.wrong").count() == 1
    page.locator("#other").select_option(str(second.id))
    page.get_by_role("button", name="Merge").click()
    assert page.locator(".tiles.four dd").first.inner_text() == str(first.size + second.size)
    reader.open(taxonomy[-1].name)
    page.get_by_role("button", name="Request split").click()
    assert page.get_by_role("button", name="Split requested").is_disabled()


def test_corrections_from_page_to_run_and_back(
    reader: Reader,
    run: Path,
    taxonomy: Taxonomy,
    browser: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page, (first, second) = reader.page, two_siblings(taxonomy)
    correct(reader, taxonomy)
    page.locator("#pending").get_by_role("button", name="Undo").click()
    reader.go("Corrections")
    assert page.locator("#log li").count() == 3
    file = reader.downloaded(page.locator("#download"))
    kept = tmp_path / "corrections.json"
    shutil.copy(file, kept)
    content = json.loads(kept.read_text("utf-8"))
    assert [c["do"] for c in content["corrections"]] == ["rename", "wrong", "merge"]
    reader.go("Overview")
    before = reader.names()
    assert second.name not in before

    again = Reader(browser, run / layout.REPORT)  # The same page, opened again.
    again.go("Corrections")
    again.page.locator("#load").set_input_files(kept)
    expect(again.page.locator("#log li")).to_have_count(3)
    again.go("Overview")
    assert again.names() == before
    again.close()

    capsys.readouterr()
    assert main(["edit", str(run), str(kept), "--quiet"]) == 0
    edited = Reader(browser, run / layout.REPORT)  # The page of the corrected run.
    assert "my own name" in edited.names()
    assert second.name not in edited.names()
    assert len(edited.names()) == len(taxonomy) - 1
    edited.go("Corrections")
    edited.page.locator("#load").set_input_files(kept)
    expect(edited.page.locator("#load-problem")).to_contain_text("edited since")
    edited.close()
    of = Discovery.load(run).taxonomy_.by_id()
    assert of[first.id].name == "my own name"
    assert second.id not in of


def test_undo_restores_the_first_state(reader: Reader, taxonomy: Taxonomy) -> None:
    before = reader.names()
    correct(reader, taxonomy)
    reader.go("Corrections")
    for _ in range(4):
        reader.page.locator("#undo").click()
    assert reader.page.locator("#undo").is_disabled()
    reader.go("Overview")
    assert reader.names() == before
    assert reader.page.locator("#pending").is_hidden()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "not JSON"),
        ('{"subtaxa corrections": 9}', "no subtaxa corrections"),
        ('{"subtaxa corrections": 1, "run": "x", "edits": 0, "corrections": []}', "another run"),
        ('{"subtaxa corrections": 1, "run": RUN, "edits": 0, "corrections": [{"do": "merge"}]}', "required field"),
        (
            '{"subtaxa corrections": 1, "run": RUN, "edits": 0, "corrections": '
            '[{"do": "rename", "category": 999, "name": "x"}]}',
            "no category 999",
        ),
    ],
)
def test_bad_corrections_change_nothing(unchanged: Reader, saved: Path, tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "bad.json"
    known = json.dumps(reading.read_run(saved)["data"]["fingerprint"])
    file.write_text(content.replace("RUN", known), encoding="utf-8")
    before = unchanged.names()
    unchanged.refuses(file, why)
    assert unchanged.names() == before


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{key: tables.unescape_formula(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_tables_from_the_page_are_those_of_the_run(browser: Any, hostile: Path) -> None:
    reader = Reader(browser, hostile / layout.REPORT)
    categories = read_csv(reader.downloaded(reader.page.locator("#categories-csv")))
    path = reader.downloaded(reader.page.locator("#assignments-csv"))
    ours, theirs, raw = read_csv(path), read_csv(hostile / "assignments.csv"), path.read_text("utf-8")
    reader.close()
    assert "\n=" not in raw.replace(",=", "\n=")
    taxonomy = reading.read_taxonomy(hostile)
    assert [(int(row["category_id"]), int(row["size"])) for row in categories] == [(c.id, c.size) for c in taxonomy]
    for name in ("row", "category_id", "outlier"):
        assert [row[name] for row in ours] == [row[name] for row in theirs]
    for mine, its in zip(ours, theirs, strict=True):
        assert float(mine["confidence"]) == pytest.approx(float(its["confidence"]), abs=0.0051)
        assert mine["text"] == its["text"] or mine["text"].endswith("…") or len(its["text"]) > 4000
    assert any(row["text"] == "=HYPERLINK(1)" for row in ours)


def test_cells_of_the_page_are_hardened_like_those_of_the_commands(unchanged: Reader) -> None:
    """A reader that splits at another character, such as a semicolon, must not meet a formula behind it."""
    hostile = ["=1+1", "'=1", "a;=1+1", "a|=1", "a\t=1", "a,=1", 'a"b', "a\r=1", "a\n=1", "＝1", "plain", ";", ""]  # noqa: RUF001
    written = tables.csv_text({"text": [f"{text}·" for text in hostile], "other": ["x"] * len(hostile)})
    script = (Path(report.__file__).parent / "js" / "export.js").read_text("utf-8")
    found = unchanged.page.evaluate(f"texts => {{{script}; return texts.map(cell);}}", [f"{text}·" for text in hostile])
    assert written == "text,other\n" + "".join(f"{text},x\n" for text in found)


def test_hostile_texts_are_shown_as_text(browser: Any, hostile: Path) -> None:
    """Hostile texts run no script (a dialog would be an error), add no element, and do not break the layout."""
    reader = Reader(browser, hostile / layout.REPORT)
    page = reader.page
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 850})
        for part in ("Overview", "Map", "Category", "Training", "Corrections"):
            reader.go(part)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (part, width)
    for c in reading.read_taxonomy(hostile):
        page.goto(f"{(hostile / layout.REPORT).as_uri()}#category-{c.id}")
        assert page.locator("#category-title bdi").inner_text().split() == c.name.split()
    assert page.locator("script").count() == 3
    assert page.locator("img, iframe, [onclick], [onerror], [onload], b[onclick]").count() == 0
    assert "<b onclick" in page.locator("#go").inner_text()
    added = "s => { const e = document.createElement('script'); e.textContent = s; document.body.append(e); }"
    page.evaluate(added, "document.title = 'taken over'")
    assert page.title() != "taken over"
    assert "Content Security Policy" in reader.errors.pop()
    reader.close()


def test_axe_finds_nothing_serious(browser: Any, saved: Path, taxonomy: Taxonomy) -> None:
    reader = Reader(browser, saved / layout.REPORT)
    reader.open(taxonomy[0].name)
    reader.page.locator("#new-name").fill("another name")
    reader.page.get_by_role("button", name="Rename").click()
    for part in ("Overview", "Map", "Category", "How many", "Training", "Corrections"):
        reader.go(part)
        assert serious_problems(reader.page) == [], part
    reader.close()


def test_the_printed_page(reader: Reader, taxonomy: Taxonomy, tmp_path: Path) -> None:
    """The overview with examples and the training page are printed; controls are not."""
    page = reader.page
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#search").is_hidden()
    for category in taxonomy:
        assert page.get_by_text(category.examples[0], exact=True).first.is_visible()
    assert page.locator("#view-training").is_visible()
    assert page.locator("#view-corrections").is_hidden()
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_leaving_with_corrections_asks_first(browser: Any, saved: Path, taxonomy: Taxonomy) -> None:
    reader = Reader(browser, saved / layout.REPORT)
    correct(reader, taxonomy)
    with reader.page.expect_event("dialog") as asked:
        reader.page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    reader.errors.clear()
    reader.close()
