"""The sliders of the report in a real browser: other numbers of categories, and applying them to the run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.browser import Reader, serious_problems
from helpers.corpus import planted_corpus
from playwright.sync_api import expect

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery
from subtaxa.runs import layout

TEXTS, LABELS, _ = planted_corpus(per_topic=25)
NAMES = ["access", "money", "post"]
RUN = 6


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sliders") / "run"
    return Discovery(RUN, **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


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


def set_number(reader: Reader, number: int, label: str = "") -> None:
    """Move a slider as a reader does, and wait until everything is drawn."""
    reader.page.locator(f"#number{NAMES.index(label)}" if label else "#number").fill(str(number))
    reader.page.wait_for_timeout(400)  # Labels outside the screen are drawn once the slider rests.


def shown(reader: Reader) -> list[int]:
    """The number of categories of each label in the tables."""
    cards = reader.page.locator("#tree .label")
    return [cards.nth(i).locator("th a").count() for i in range(len(NAMES))]


def sizes(reader: Reader) -> list[int]:
    return [int(text) for text in reader.page.locator("#tree tr:not(.printed) td:nth-child(2)").all_inner_texts()]


def download(reader: Reader, to: Path) -> Any:
    shutil.copy(reader.downloaded(reader.page.locator("#pending").get_by_role("button", name="Download")), to)
    return json.loads(to.read_text("utf-8"))


@pytest.mark.parametrize("total", [3, 4, 9, 20])
def test_a_total_changes_bars_tables_and_counts(reader: Reader, saved: Path, total: int) -> None:
    state = Discovery.load(saved)._fitted_state()
    tree = state.tree.tree  # type: ignore[union-attr]
    cut = tree.cut(total)
    set_number(reader, total)
    assert shown(reader) == tree.numbers(cut)
    assert reader.page.locator("#tree .bar a").count() == total
    assert reader.page.locator("#count").inner_text() == str(total)
    assert reader.page.locator("#found").inner_text() == f"{total} categories"
    assert reader.page.locator("#recut output").inner_text() == str(total)
    assert sorted(sizes(reader)) == sorted(tree.sizes[cut].tolist())
    kept = {c.name for c in state.taxonomy if state.current.groups[c.id][0] in cut}
    assert kept <= set(reader.names())
    words = reader.page.locator("#tree td.words").all_inner_texts()
    for node in set(cut.tolist()) - {group[0] for group in state.current.groups.values()}:
        assert ", ".join(state.tree.nodes[node].keywords[:5]) in words  # type: ignore[union-attr]


def test_one_label_changes_alone_and_goes_back(reader: Reader) -> None:
    before, names = shown(reader), reader.names()
    set_number(reader, 5, "money")
    assert shown(reader) == [before[0], 5, before[2]]
    assert reader.page.locator("#recut output").inner_text() == str(before[0] + 5 + before[2])
    assert reader.page.locator("#count").inner_text() == str(before[0] + 5 + before[2])
    set_number(reader, 4, "post")
    assert shown(reader) == [before[0], 5, 4]
    reader.page.get_by_role("button", name="Back to the run’s categories of money").click()
    reader.page.wait_for_timeout(400)
    assert shown(reader) == [*before[:2], 4]
    assert reader.page.evaluate("document.activeElement.id") == "number1"
    reader.page.get_by_role("button", name=f"Back to the run’s categories ({RUN})", exact=True).click()
    reader.page.wait_for_timeout(400)
    assert reader.names() == names
    assert reader.page.locator("#pending").is_hidden()
    assert reader.page.locator("#recut button").is_hidden()


def test_the_number_of_the_run_is_no_correction(reader: Reader) -> None:
    names = reader.names()
    set_number(reader, 8)
    assert reader.page.locator("#pending").is_visible()
    set_number(reader, RUN)
    assert reader.names() == names
    assert reader.page.locator("#pending").is_hidden()
    set_number(reader, 8)
    reader.page.locator("#pending").get_by_role("button", name="Undo").click()
    reader.page.wait_for_timeout(400)
    assert reader.names() == names


def test_the_keyboard_moves_a_slider_and_the_number_is_said(reader: Reader) -> None:
    page = reader.page
    page.locator("#number").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#recut output")).to_have_text(str(RUN + 2))
    expect(page.locator("#recut-live")).to_have_text(
        re.compile(f"Now {RUN + 2} categories in all labels; the run has {RUN}")
    )
    assert (
        page.locator("#number").get_attribute("aria-valuetext").startswith(f"{RUN + 2} categories, the run has {RUN}")
    )
    assert page.evaluate("document.activeElement.id") == "number"
    page.keyboard.press("Home")
    expect(page.locator("#recut output")).to_have_text("3")
    page.locator("#number1").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#recut output")).to_have_text("4")
    assert page.evaluate("document.activeElement.id") == "number1"
    assert page.get_by_role("slider", name="Categories of money").count() == 1
    page.locator("#number").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#recut-live")).to_have_text("These are the run’s categories.")


def test_dragging_with_the_mouse(reader: Reader) -> None:
    page = reader.page
    page.locator("#number1").scroll_into_view_if_needed()
    box = page.locator("#number1").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    found = set()
    for share in (0.6, 0.8, 0.999):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2, steps=3)
        page.wait_for_timeout(100)
        found.add(page.locator("#tree .slider output").nth(1).inner_text())
    page.mouse.up()
    assert len(found) == 3
    assert page.locator("#number1").get_attribute("max") in found


def colours(reader: Reader) -> list[str]:
    """The colours on the map that cover more than a few pixels."""
    found: list[str] = reader.page.evaluate(
        """() => {
          const canvas = document.getElementById("canvas"), found = new Map();
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          for (let i = 0; i < pixels.length; i += 4) {
            const colour = pixels.slice(i, i + 3).join();
            if (pixels[i + 3] === 255) found.set(colour, (found.get(colour) || 0) + 1);
          }
          const grey = (c) => { const [r, g, b] = c.split(","); return Math.abs(r - g) + Math.abs(g - b) < 30; };
          return [...found].filter(([c, n]) => n > 60 && !grey(c)).map(([c]) => c);
        }"""
    )
    return found


def test_the_map_and_the_category_page_follow(reader: Reader) -> None:
    page = reader.page
    reader.go("Map")
    page.locator("#shown").select_option(label="money")
    page.locator("#colour").select_option("category")
    page.locator("#number").fill("3")
    expect(page.locator("#key li")).to_have_count(1)
    page.locator("#number").fill("7")
    expect(page.locator("#recut output")).to_have_text("7")
    page.wait_for_timeout(200)
    assert 1 < len(colours(reader)) <= page.locator("#key li").count()  # A small category covers few pixels.
    reader.go("Overview")
    set_number(reader, 5, "money")
    name = page.locator("#tree .label").nth(1).locator("th a").first.inner_text()
    size = page.locator("#tree .label").nth(1).locator("td").first.inner_text()
    reader.open(name)
    assert page.locator("#category-title bdi").inner_text() == name
    assert page.locator(".tiles.four dd").first.inner_text() == size
    assert page.locator("#texts li").count() == int(size)
    assert "changed the number of categories of money" in page.locator("#apply-first").inner_text()
    assert page.locator("#new-name, #texts input[type=checkbox], #mark").count() == 0
    page.locator("#pending").get_by_role("button", name="Undo").click()
    assert page.locator("#new-name").count() == 1
    assert page.locator("#texts input[type=checkbox]").count() > 0


def test_search_finds_the_texts_of_the_cut(reader: Reader) -> None:
    page = reader.page
    page.locator("#search").fill("parcel")
    expect(page.locator("#matches")).not_to_be_empty()
    page.locator("#number").fill("3")
    expect(page.locator("#matches")).to_contain_text("1 category and")
    number = sum("parcel" in text.split() for text in TEXTS)
    assert page.locator("#tree .flag").all_inner_texts() == [f"{number} matches"]


@pytest.mark.parametrize("moves", [[("", 9)], [("money", 5), ("post", 3)], [("", 12), ("access", 4)], [("", 3)]])
def test_from_the_slider_to_the_run(reader: Reader, run: Path, tmp_path: Path, moves: list[tuple[str, int]]) -> None:
    for label, number in moves:
        set_number(reader, number, label)
    expected, counts, file = shown(reader), sizes(reader), tmp_path / "corrections.json"
    ours = Path(shutil.copy(reader.downloaded(reader.page.locator("#categories-csv")), tmp_path / "categories.csv"))
    (correction,) = download(reader, file)["corrections"]
    single = len(moves) == 1
    assert correction == {"do": "recut", "categories": moves[0][1] if single else correction["categories"]}
    if not single:
        assert correction["categories"].items() >= {(label, n) for label, n in moves if label}
    assert main(["edit", str(run), str(file), "--quiet"]) == 0
    after = Discovery.load(run).taxonomy_
    assert [len(after.children(label)) for label in NAMES] == expected
    ids = [int(line.split(",")[0]) for line in ours.read_text("utf-8-sig").splitlines()[1:]]
    assert sorted(ids) == sorted(c.id for c in after)  # The page shows the ids that the edit gives.
    moved = np.abs(np.sort(counts) - np.sort([c.size for c in after])).sum()
    assert moved <= 0.2 * len(TEXTS)  # Only k-means makes a difference.


def test_numbers_and_other_corrections_never_meet_in_a_label(reader: Reader, run: Path, tmp_path: Path) -> None:
    page, model = reader.page, Discovery.load(run)
    reader.open(model.taxonomy_.children("money")[0].name)
    page.locator("#new-name").fill("my own name")
    page.get_by_role("button", name="Rename").click()
    reader.go("Overview")
    assert page.locator("#number").is_disabled()
    assert page.locator("#number1").is_disabled()
    assert page.locator("#tree .label").nth(1).locator(".locked").is_visible()
    set_number(reader, 4, "post")
    content = download(reader, tmp_path / "corrections.json")
    assert [c["do"] for c in content["corrections"]] == ["recut", "rename"]
    names = reader.names()
    reader.page.reload()
    reader.page.wait_for_selector("body[data-ready]")
    reader.go("Corrections")
    page.locator("#load").set_input_files(tmp_path / "corrections.json")
    expect(page.locator("#log li")).to_have_count(2)
    reader.go("Overview")
    assert reader.names() == names
    assert main(["edit", str(run), str(tmp_path / "corrections.json"), "--quiet"]) == 0
    after = Discovery.load(run).taxonomy_
    assert "my own name" in {c.name for c in after.children("money")}
    assert len(after.children("post")) == 4


def test_a_new_move_must_be_downloaded_again(reader: Reader, tmp_path: Path) -> None:
    set_number(reader, 8)
    download(reader, tmp_path / "first.json")
    assert reader.page.locator("#pending").is_hidden()
    set_number(reader, 9)
    assert download(reader, tmp_path / "second.json")["corrections"] == [{"do": "recut", "categories": 9}]


@pytest.mark.parametrize(
    ("corrections", "why"),
    [
        ([{"do": "recut", "categories": 2}], "there can be 3 to"),
        ([{"do": "recut", "categories": {"money": 999}}], "can have 1 to"),
        ([{"do": "recut", "categories": {"none": 2}}], "there is no label"),
        ([{"do": "recut", "categories": {}}], "required field"),
        ([{"do": "recut", "categories": {"money": "2"}}], "required field"),
        ([{"do": "recut", "categories": [2]}], "required field"),
        ([{"do": "recut", "categories": 4}, {"do": "recut", "categories": 5}], "already a new number"),
        ([{"do": "recut", "categories": 4}, {"do": "wrong", "rows": "ROW"}], "apply that first"),
        ([{"do": "wrong", "rows": "ROW"}, {"do": "recut", "categories": 4}], "before all other corrections"),
    ],
)
def test_a_file_with_a_bad_recut_changes_nothing(unchanged: Reader, tmp_path: Path, corrections: Any, why: str) -> None:
    before, file = unchanged.names(), tmp_path / "bad.json"
    data = json.loads(unchanged.page.locator("#data").text_content() or "")
    written = json.dumps(corrections).replace('"ROW"', f"[{data['rows'][0]}]")
    file.write_text(f'{{"subtaxa corrections": 1, "run": "{data["run"]}", "edits": 0, "corrections": {written}}}')
    unchanged.refuses(file, why)
    assert unchanged.names() == before
    assert unchanged.page.locator("#number").is_enabled()


def test_hostile_labels_and_names(quick: dict[str, object], browser: Any, tmp_path: Path) -> None:
    """Labels that the page must shorten or escape can be recut, and names run no script."""
    renamed = {"money": "</script><script>alert(5)</script>", "access": "__proto__", "post": "y" * 5_000}
    bad = [f"<img src=x onerror=alert({i})> {text}" for i, text in enumerate(TEXTS)]
    model = Discovery(RUN, **quick).fit(bad, [renamed[label] for label in LABELS])  # type: ignore[arg-type]
    run = model.save(tmp_path / "run")
    reader = Reader(browser, run / layout.REPORT)
    for i in range(3):
        reader.page.locator(f"#number{i}").fill("4")
        reader.page.wait_for_timeout(300)
    for width in (1200, 390):
        reader.page.set_viewport_size({"width": width, "height": 850})
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    assert reader.page.locator("img, [onerror], #tree script").count() == 0
    content = download(reader, tmp_path / "corrections.json")
    assert content["corrections"] == [{"do": "recut", "categories": dict.fromkeys(renamed.values(), 4)}]
    reader.close()
    assert main(["edit", str(run), str(tmp_path / "corrections.json"), "--quiet"]) == 0
    assert {label: len(Discovery.load(run).taxonomy_.children(label)) for label in renamed.values()} == dict.fromkeys(
        renamed.values(), 4
    )


def test_a_run_without_a_tree_has_no_slider(browser: Any, saved: Path, tmp_path: Path) -> None:
    from subtaxa.report.page import render_report
    from subtaxa.runs.load import load_run
    from subtaxa.runs.reading import read_run
    from subtaxa.runs.save import report_data

    state = load_run(saved)
    state.tree = None
    (tmp_path / "report.html").write_text(render_report(report_data(state, read_run(saved))), encoding="utf-8")
    reader = Reader(browser, tmp_path / "report.html")
    assert len(reader.names()) == RUN
    assert reader.page.locator("input[type=range], #recut").count() == 0
    reader.close()


def test_axe_finds_nothing_serious(browser: Any, saved: Path) -> None:
    reader = Reader(browser, saved / layout.REPORT)
    set_number(reader, 9)
    for part in ("Overview", "Map", "Category", "Corrections"):
        reader.go(part)
        assert serious_problems(reader.page) == [], part
    reader.close()
