"""Pictures of the map and the charts, saved from the report in a real browser."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.browser import Reader
from helpers.corpus import planted_corpus

from subtaxa.discovery import Discovery
from subtaxa.runs import layout

HOSTILE = "</text><script>alert(1)</script> & \x1b\x00 \ud800 \u202e"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def run(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts, labels, _ = planted_corpus()
    model = Discovery(6, **quick).fit(texts, [HOSTILE if label == "money" else label for label in labels])  # type: ignore[arg-type]
    model.taxonomy_.rename(model.taxonomy_[0].id, "a <b>name</b>")
    return model.save(tmp_path_factory.mktemp("picture") / "run")


@pytest.fixture(params=["light", "dark"])
def reader(browser: Any, run: Path, request: pytest.FixtureRequest) -> Iterator[Reader]:
    opened = Reader(browser, run / layout.REPORT, color_scheme=request.param)
    yield opened
    opened.close()


def svg_of(file: Path) -> ElementTree.Element:
    found = ElementTree.fromstring(file.read_text("utf-8"))  # noqa: S314 - our own file; a bomb would hang the test
    assert {part.tag.removeprefix(SVG) for part in found.iter()} <= {
        "svg",
        "rect",
        "text",
        "path",
        "circle",
        "polyline",
        "title",
    }
    return found


def words(picture: ElementTree.Element) -> str:
    return " ".join("".join(text.itertext()) for text in picture.iter(f"{SVG}text"))


def test_the_map_is_saved_with_its_dots_names_and_key(reader: Reader, run: Path) -> None:
    reader.go("Map")
    page = reader.page
    reader.page.wait_for_selector("#canvas[data-names]")
    picture = svg_of(reader.downloaded(page.get_by_role("button", name="Save the map as SVG")))
    dots = sum(path.get("d", "").count("h0") for path in picture.iter(f"{SVG}path"))
    assert dots == len(Discovery.load(run).data_.texts)
    assert "a <b>name</b>" in words(picture)
    assert "<script>alert(1)</script>" in words(picture)  # In the key, as text.
    paper = picture.find(f"{SVG}rect")
    assert paper is not None
    assert paper.get("fill") == page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_png_is_twice_as_sharp_and_not_empty(reader: Reader) -> None:
    from matplotlib.image import imread

    reader.go("Map")
    reader.page.wait_for_selector("#canvas[data-names]")
    width = reader.page.locator(".map-main").bounding_box()["width"]
    pixels = imread(reader.downloaded(reader.page.get_by_role("button", name="Save the map as PNG")), format="png")
    assert pixels.shape[1] == pytest.approx(2 * width, abs=2)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20


def test_charts_are_saved_with_their_curves_and_captions(reader: Reader) -> None:
    reader.go("Training")
    picture = svg_of(reader.downloaded(reader.page.get_by_role("button", name="Save the charts as SVG").first))
    assert len(picture.findall(f".//{SVG}polyline")) == reader.page.locator("#view-training .chart").count() > 0
    for caption in reader.page.locator("#view-training .chart-name").all_inner_texts():
        assert caption in words(picture)
    colour = reader.page.evaluate("getComputedStyle(document.querySelector('.chart .line')).stroke")
    assert {line.get("stroke") for line in picture.iter(f"{SVG}polyline")} == {colour}
