"""Figures from synthetic runs: their text, the runs they name, and that they are reproducible."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.bench_records import COARSE, dna_history, made_up, whole_benchmark, write_map

from subtaxa.bench.paper.figures import write_figure
from subtaxa.bench.records import Record, choose_variant, read_all
from subtaxa.errors import InputError, SubtaxaError

# Text that each figure must contain.
EXPECTED = {
    "3a": ["k-NN", "+Label", "+Reciprocal", "+Rank", "epoch", "HWU64", "CLINC", "WOS-part", "seed-{0,1,2}", "2 cores"],
    "3b": ["k-NN", "neighbours per text", "epoch", "hwu64/dna/default"],
    "3c": ["ACC", "ARI", "NMI", "epoch", "0", "hwu64/dna/default"],
    "4": ["ACC", "ARI", "NMI", "15", "120", "240", "default_neighbours={15,30,60,240}"],
    "7": ["ACC", "1", "2", "5", "10", "default_rank-top-m={1,2,10}"],
    "5": ["WSCL, ACC", "DNA, ACC", *COARSE, "hwu64/{dna,wscl}/default/seed-0"],
}


@pytest.fixture
def matplotlib() -> None:
    pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    root = tmp_path_factory.mktemp("runs")
    whole_benchmark(root)
    return choose_variant(read_all(root), None)


def words(svg: Path) -> str:
    """All text of a figure."""
    root = ElementTree.fromstring(svg.read_bytes())  # noqa: S314
    return "\n".join("".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("number", EXPECTED)
def test_figure(tmp_path: Path, benchmark: list[Record], number: str) -> None:
    svg, png = write_figure(number, benchmark, tmp_path / "once")
    assert (svg.name, png.name) == (f"figure{number}.svg", f"figure{number}.png")
    text = words(svg)
    missing = [label for label in EXPECTED[number] if label not in text]
    assert not missing
    sizes = {float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg.read_text("utf-8"))}
    assert min(sizes) >= 8  # matplotlib's px is a point
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 20_000
    for once, again in zip((svg, png), write_figure(number, benchmark, tmp_path / "again"), strict=True):
        assert once.read_bytes() == again.read_bytes()


@pytest.mark.usefixtures("matplotlib")
def test_the_style_is_reset_afterwards(tmp_path: Path, benchmark: list[Record]) -> None:
    from matplotlib import rcParams

    before = dict(rcParams)
    write_figure("4", benchmark, tmp_path)
    assert dict(rcParams) == before


@pytest.mark.usefixtures("matplotlib")
def test_means_of_the_seeds_without_the_sweeps(tmp_path: Path) -> None:
    from subtaxa.bench.paper.figures import performance
    from subtaxa.report.style import styled

    for seed, acc in enumerate((60.0, 70.0)):
        rows = [{"epoch": 0, "acc": 50.0, "ari": 1.0, "nmi": 1.0}, {"epoch": 1, "acc": acc, "ari": 1.0, "nmi": 1.0}]
        made_up(tmp_path, "clinc", "dna", seed=seed, history=rows)
    made_up(tmp_path, "clinc", "dna", changes={"neighbours": 9}, history=[{"epoch": 1, "acc": 0.0}])
    with styled():
        (panel,) = performance(read_all(tmp_path)).axes
    assert panel.lines[0].get_xydata().tolist() == [[0, 50], [1, 65]]
    band = panel.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == (50, 70)


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("datasets", [["hwu64"], ["hwu64", "clinc", "wos-part"]])
def test_the_legend_is_inside_the_figure(tmp_path: Path, datasets: list[str]) -> None:
    from subtaxa.bench.paper.figures import neighbour_accuracy
    from subtaxa.report.style import styled

    with styled():
        figure = neighbour_accuracy([made_up(tmp_path, name, "dna", history=dna_history()) for name in datasets])
        figure.draw_without_rendering()
        legend, whole = figure.legends[0].get_window_extent(), figure.bbox
        panels = [panel.get_window_extent() for panel in figure.axes]
        (caption,) = [text.get_window_extent() for text in figure.texts]
    assert 0 <= legend.x0 < legend.x1 <= whole.x1
    assert legend.y1 <= whole.y1
    assert max(panel.y1 for panel in panels) < legend.y0
    assert caption.x1 <= whole.x1
    assert 0 <= caption.y0 < caption.y1 < min(panel.y0 for panel in panels)


@pytest.mark.usefixtures("matplotlib")
def test_many_data_sets_and_special_characters(tmp_path: Path) -> None:
    names = ["hwu64", "a$b$c", "d & <e>", "f_{g}", "h"]
    records = [made_up(tmp_path / "runs", name, "dna", history=dna_history()) for name in names]
    svg, _ = write_figure("3a", records, tmp_path)
    assert all(name.replace("hwu64", "HWU64") in words(svg) for name in names)


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize(("number", "needs"), [("3a", "run of dna"), ("4", "--neighbours"), ("5", "wscl")])
def test_an_error_names_the_missing_runs(tmp_path: Path, number: str, needs: str) -> None:
    records = [made_up(tmp_path / "runs", "hwu64", "wscl")]
    write_map(records[0])
    with pytest.raises(InputError, match=needs):
        write_figure(number, records, tmp_path)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SubtaxaError, match=r"pip install 'subtaxa\[plots\]'"):
        write_figure("3a", [made_up(tmp_path / "runs", "hwu64", "dna", history=dna_history())], tmp_path)


@pytest.mark.usefixtures("matplotlib")
def test_another_method_has_its_own_file(tmp_path: Path) -> None:
    made_up(tmp_path / "runs", "hwu64", "down", history=dna_history(1))
    records = choose_variant(read_all(tmp_path / "runs"), None)
    assert write_figure("3c", records, tmp_path, "down")[0].name == "figure3c-down.svg"
    with pytest.raises(InputError, match="needs a run of dna"):
        write_figure("3c", records, tmp_path)
