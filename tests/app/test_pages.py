"""The app in a real browser: every way to change a run, the questions, the search, and the start page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import Reader, serious_problems
from helpers.corpus import planted_corpus
from helpers.served_app import served
from playwright.sync_api import expect

from subtaxa.app.desk import Desk
from subtaxa.app.run_app import run_app
from subtaxa.app.start_app import start_app
from subtaxa.app.workbench import Workbench
from subtaxa.cli.main import main
from subtaxa.data.tables import csv_text
from subtaxa.discovery import Discovery
from subtaxa.runs import layout, reading

VIEWS = ("overview", "map", "treemap", "category", "columns", "similar", "questions", "quality", "new", "corrections")
EVIL = ("</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>")


@pytest.fixture
def link(bench: Workbench) -> Iterator[str]:
    with served(run_app(bench)) as link:
        yield link


@pytest.fixture
def reader(browser: Any, link: str) -> Iterator[Reader]:
    opened = Reader(browser, None, link)
    yield opened
    opened.close()


def log(run: Path) -> list[dict[str, Any]]:
    path = run / layout.EDITS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def two_siblings(run: Path) -> tuple[Any, Any]:
    taxonomy = reading.read_taxonomy(run)
    parent = max(taxonomy.parents, key=lambda name: len(taxonomy.children(name)))
    first, second = taxonomy.children(parent)[:2]
    return first, second


def saved_bar(reader: Reader) -> Any:
    return reader.page.locator("#pending")


def test_rename_merge_undo_and_redo(reader: Reader, run: Path) -> None:
    page = reader.page
    first, second = two_siblings(run)
    reader.open(first.name)
    page.locator("#new-name").fill("Refunds & <b>returns</b>")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator("#category-title")).to_contain_text("Refunds & <b>returns</b>")
    expect(saved_bar(reader)).to_contain_text("Saved")
    assert log(run)[-1]["name"] == "Refunds & <b>returns</b>"
    page.locator("#other").select_option(str(second.id))
    page.get_by_role("button", name="Merge").click()
    expect(page.locator(f"#go option[value='{second.id}']")).to_have_count(0)
    saved_bar(reader).get_by_role("button", name="Undo").click()
    expect(page.locator(f"#go option[value='{second.id}']")).to_have_count(1)
    saved_bar(reader).get_by_role("button", name="Redo").click()
    expect(page.locator(f"#go option[value='{second.id}']")).to_have_count(0)
    reader.go("History")
    expect(page.locator("#log li")).to_have_count(4)
    for _ in range(2):
        page.locator("#undo").click()
        expect(page.locator("body")).to_have_attribute("data-waiting", "0")
    assert reader.page.locator("#undo").is_disabled()
    assert {c.id: c.name for c in Discovery.load(run).taxonomy_}[first.id] == first.name


def test_a_split_is_shown_before_it_is_made(reader: Reader, run: Path) -> None:
    page, before = reader.page, len(reading.read_taxonomy(run))
    first, _ = two_siblings(run)
    reader.open(first.name)
    page.locator("#into").fill("2")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#parts h4")).to_have_count(2)
    assert log(run) == []
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#parts h4")).to_have_count(0)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Split like this").click()
    expect(page.locator("#go option")).to_have_count(before + 1)
    assert [edit["do"] for edit in log(run)] == ["split"]


def test_texts_move_to_another_and_to_a_new_category(reader: Reader, run: Path) -> None:
    page = reader.page
    first, second = two_siblings(run)
    reader.open(first.name)
    boxes = page.locator("#texts li input")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.locator("#target").select_option(str(second.id))
    page.locator("#mark").click()
    expect(page.locator("#texts h3")).to_have_text(f"All {first.size - 2} texts")
    boxes.nth(0).check()
    page.locator("#target").select_option("new")
    page.locator("#target-name").fill("set apart")
    page.locator("#mark").click()
    expect(page.locator("#texts h3")).to_have_text(f"All {first.size - 3} texts")
    reader.go("Overview")
    expect(page.locator("#tree")).to_contain_text("set apart")
    assert [edit["do"] for edit in log(run)] == ["move", "split", "rename"]


def test_a_lasso_moves_texts(reader: Reader, run: Path) -> None:
    page, label = reader.page, two_siblings(run)[0].parent
    reader.go("Map")
    page.locator("#shown").select_option(label=label)
    page.get_by_label("Lasso").check()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    far_x, far_y = box["x"] + box["width"] - 2, box["y"] + box["height"] - 2
    for x, y in [(far_x, box["y"] + 2), (far_x, far_y), (box["x"] + 2, far_y), (box["x"] + 2, box["y"] + 2)]:
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    target = two_siblings(run)[0]
    page.locator("#lasso-target").select_option(str(target.id))
    page.locator("#selected").get_by_role("button", name="Move").click()
    expect(saved_bar(reader)).to_contain_text("Saved")
    assert log(run)[-1]["to"] == target.id
    assert len(Discovery.load(run).taxonomy_.children(label)) == 1


def test_the_slider_previews_and_keeps_another_number(reader: Reader, run: Path) -> None:
    page, before = reader.page, len(reading.read_taxonomy(run))
    page.locator("#number").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#count")).to_have_text(str(before - 1))
    assert log(run) == []
    saved_bar(reader).get_by_role("button", name="Back").click()
    expect(page.locator("#count")).to_have_text(str(before))
    page.locator("#number").focus()
    page.keyboard.press("ArrowLeft")
    saved_bar(reader).get_by_role("button", name="Keep").click()
    expect(saved_bar(reader)).to_contain_text("Saved")
    expect(page.locator("#count")).to_have_text(str(before - 1))
    assert [edit["do"] for edit in log(run)] == ["recut"]
    assert "–" not in page.locator("#mean-confidence").inner_text()


def test_questions_are_answered_by_keys(reader: Reader, run: Path) -> None:
    page = reader.page
    reader.go("Questions")
    expect(page.locator(".question .sides")).to_be_visible()

    def press(key: str, entries: int) -> None:
        page.keyboard.press(key)
        expect(page.locator("#corrected")).to_have_text(str(entries)) if entries else None
        expect(page.locator("body")).to_have_attribute("data-waiting", "0")

    first = page.locator(".question .sides").inner_text()
    press("s", 0)
    expect(page.locator(".question .sides")).not_to_have_text(first)
    press("n", 1)
    assert log(run)[-1]["same"] is False
    press("u", 2)
    assert log(run)[-1]["do"] == "undo"
    expect(page.locator("#answered dd").first).to_have_text("0")
    press("y", 3)
    assert log(run)[-1]["same"] is True
    expect(page.locator("#answered dd").first).to_have_text("1")
    expect(page.locator("#answered .said")).not_to_be_empty()


def test_find_by_meaning_and_more_like_this(reader: Reader) -> None:
    page = reader.page
    reader.go("Find")
    page.locator("#sentence").fill("parcel courier lost")
    page.keyboard.press("Enter")
    expect(page.locator("#similar-found li").first).to_be_visible(timeout=300_000)
    nearest = page.locator("#similar-found .said").first.inner_text()
    page.locator("#similar-found .like").first.click()
    expect(page.locator("#similar-found q")).to_have_text(nearest)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#similar-found .plain a").first.click()
    page.locator("#texts .like").first.click()
    expect(page.locator("#view-similar")).to_be_visible()


def test_the_quality_names_what_to_look_at_first(reader: Reader) -> None:
    page = reader.page
    reader.go("Quality")
    expect(page.locator("#facts dt")).to_have_text(["How sure", "How stable", "Outliers", "Suspect labels"])
    links = page.locator("#first a")
    if links.count():
        links.first.click()
        expect(page.locator("#category-title")).to_be_visible()


def test_new_texts_are_assigned_shown_and_kept(reader: Reader, run: Path, tmp_path: Path) -> None:
    page, before = reader.page, reading.read_run(run)["data"]["texts"]
    texts, _, _ = planted_corpus(per_topic=4, seed=1)
    file = tmp_path / "new.csv"
    file.write_text(csv_text({"id": list(range(len(texts))), "message": texts}))
    reader.go("New texts")
    page.locator("#new-file").set_input_files(file)
    page.get_by_role("button", name="Assign to categories").click()
    expect(page.locator("#new-place")).to_contain_text(f"{len(texts)} new texts of new.csv", timeout=300_000)
    assert reading.read_run(run)["data"]["texts"] == before
    page.locator(".new-category summary").first.click()
    expect(page.locator(".new-category li").first).to_be_visible()
    page.get_by_role("button", name="Add them to the run").click()
    expect(page.locator("#new-place")).to_contain_text("The texts are in the run", timeout=300_000)
    expect(page.locator(".lead")).to_contain_text(f"{before + len(texts)} texts")
    assert len(reading.read_assignments(run, ["row"])["row"]) == before + len(texts)


def test_a_change_elsewhere_is_not_overwritten(reader: Reader, run: Path) -> None:
    page = reader.page
    first, second = two_siblings(run)
    reader.open(first.name)
    assert main(["rename", str(run), str(second.id), "by the terminal"]) == 0
    page.locator("#new-name").fill("too late")
    page.get_by_role("button", name="Rename").click()
    expect(saved_bar(reader)).to_contain_text("changed elsewhere")
    expect(page.locator("#other")).to_contain_text("by the terminal")
    assert [edit["name"] for edit in log(run)] == ["by the terminal"]
    reader.errors[:] = [error for error in reader.errors if "409" not in error]


def test_a_second_tab_sees_the_change(reader: Reader, link: str, run: Path) -> None:
    first, _ = two_siblings(run)
    other = reader.context.new_page()
    other.goto(link.partition("?")[0])
    other.wait_for_selector("body[data-ready]")
    reader.open(first.name)
    reader.page.locator("#new-name").fill("by the first tab")
    reader.page.get_by_role("button", name="Rename").click()
    expect(saved_bar(reader)).to_contain_text("Saved")
    other.evaluate("dispatchEvent(new Event('focus'))")
    expect(other.locator("#tree")).to_contain_text("by the first tab")
    expect(other.locator("#pending")).to_contain_text("changed elsewhere")


def test_an_app_that_has_ended_is_said(browser: Any, bench: Workbench, run: Path) -> None:
    with served(run_app(bench)) as link:
        reader = Reader(browser, None, link)
        reader.open(two_siblings(run)[0].name)
    reader.page.locator("#new-name").fill("nobody listens")
    reader.page.get_by_role("button", name="Rename").click()
    expect(reader.page.locator(".correct .problem")).to_contain_text("does not answer")
    reader.errors.clear()  # The browser reports the failed request.
    reader.close()


def test_hostile_texts_run_nothing(browser: Any, tiny_encoder: str, tmp_path: Path) -> None:
    texts, labels, _ = planted_corpus(per_topic=8)
    model = Discovery(7, preset="quick", encoder=tiny_encoder).fit(
        [*texts, *EVIL], [*labels, *EVIL], columns={EVIL[0]: [EVIL[i % 2] for i in range(len(texts) + 2)]}
    )
    with served(run_app(Workbench(model.save(tmp_path / "evil")))) as link:
        reader = Reader(browser, None, link)
        for view in VIEWS:
            reader.page.evaluate(f"location.hash = '{view}'")
            expect(reader.page.locator(f"#view-{view}")).to_be_visible()
        reader.go("Find")
        reader.page.locator("#sentence").fill(EVIL[1])
        reader.page.keyboard.press("Enter")
        expect(reader.page.locator("#similar-found li").first).to_be_visible(timeout=300_000)
        reader.close()


def test_every_view_is_accessible_and_fits_a_phone(browser: Any, link: str) -> None:
    reader = Reader(browser, None, link, viewport={"width": 390, "height": 800})
    for view in VIEWS:
        reader.page.evaluate(f"location.hash = '{view}'")
        expect(reader.page.locator(f"#view-{view}")).to_be_visible()
        expect(reader.page.locator("body")).to_have_attribute("data-waiting", "0")
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390, view
        assert serious_problems(reader.page) == [], view
    reader.close()


@pytest.mark.usefixtures("jobs_in_forks")
def test_from_a_dropped_file_to_its_categories(browser: Any, tiny_encoder: str, tmp_path: Path) -> None:
    texts, labels, _ = planted_corpus(per_topic=12)
    table = tmp_path / "my tickets.csv"
    table.write_text(csv_text({"body": texts, "queue": labels, "note": [EVIL[1]] * len(texts)}))
    place = tmp_path / "place"
    place.mkdir()
    desk = Desk(place)
    with served(start_app(desk)) as link:
        reader = Reader(browser, None, link)
        page = reader.page
        expect(page.locator("#place")).to_contain_text("no run")
        page.locator("#file").set_input_files(table)
        expect(page.locator("#choose")).to_be_visible()
        assert (page.locator("#text-column").input_value(), page.locator("#label-column").input_value()) == (
            "body",
            "queue",
        )
        expect(page.locator("#preview tbody tr")).to_have_count(5)
        assert serious_problems(page) == []
        page.get_by_text("More options").click()
        page.locator("#preset").select_option("quick")
        page.locator("#encoder").fill(tiny_encoder)
        page.locator("#discover").click()
        expect(page.locator("#job")).to_be_visible()
        expect(page.locator("#job-step")).not_to_be_empty()
        expect(page.locator("#job-title")).to_have_text("The categories are ready", timeout=900_000)
        page.locator("#job-open").click()
        page.wait_for_selector("body[data-ready]")
        expect(page.locator("#tree")).to_contain_text("post")
        page.get_by_role("link", name="All runs").click()
        expect(page.locator("#runs li")).to_have_count(1)
        reader.close()
    desk.close()
