"""The figures for a notebook: they show all texts and labels with readable names, and no figure stays open."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.corpus import planted_corpus
from sklearn.exceptions import NotFittedError

from subtaxa.discovery import Discovery
from subtaxa.errors import InputError, SettingError, SubtaxaError
from subtaxa.report.label_placement import place_names

TEXTS, LABELS, FINE = planted_corpus()
DOLLARS = {"money": "money $5 $x^{", "access": "access_$", "post": r"post \$ $$"}
EVERYTHING = np.array([[0.0, 0.0], [400.0, 300.0]])


@pytest.fixture(scope="module")
def model(quick: dict[str, object]) -> Discovery:
    pytest.importorskip("matplotlib")
    found = Discovery(6, **quick).fit(TEXTS, [DOLLARS[label] for label in LABELS])  # type: ignore[arg-type]
    found.taxonomy_.rename(found.taxonomy_[0].id, "costs $3 or $4_{")
    return found


def written(axes: object) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("color", ["label", "category"])
def test_the_map_shows_every_text_in_the_colour_of_its_group(model: Discovery, color: str) -> None:
    axes = model.plot_map(color).axes[0]
    dots = axes.collections[0]
    np.testing.assert_allclose(dots.get_offsets(), model.map_)
    group = model.labels_ if color == "category" else np.unique(model.data_.labels, return_inverse=True)[1]
    pairs = set(zip(group.tolist(), map(tuple, dots.get_facecolors().tolist()), strict=True))
    assert len(pairs) == len(set(group.tolist())) == len({colour for _, colour in pairs})


def test_the_map_names_every_label_and_category_as_written(model: Discovery) -> None:
    assert set(written(model.plot_map().axes[0])) == set(DOLLARS.values())
    names = written(model.plot_map("category").axes[0])
    assert sorted(names) == sorted(c.name for c in model.taxonomy_)


@pytest.mark.parametrize("color", ["label", "category"])
def test_names_do_not_overlap_and_stay_on_the_map(model: Discovery, color: str) -> None:
    figure = model.plot_map(color)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = np.array([text.get_window_extent().extents for text in axes.texts if text.get_text()])  # (M, 4)
    low, high = boxes[:, :2], boxes[:, 2:]
    apart = (low[:, None] >= high[None]).any(2) | (low[None] >= high[:, None]).any(2)
    assert (apart | np.eye(len(boxes), dtype=bool)).all()
    assert (low >= axes.bbox.min - 1).all()
    assert (high <= axes.bbox.max + 1).all()


def test_sizes_are_the_categories_sizes_in_the_colours_of_the_map(model: Discovery) -> None:
    figure = model.plot_sizes()
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [c.size for c in model.taxonomy_]
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert set(names) == {c.name for c in model.taxonomy_} | set(DOLLARS.values())
    assert len(figure._repr_png_()) > 10_000  # Outside our style, "$" must not start a formula.
    dots = model.plot_map().axes[0].collections[0].get_facecolors()
    of_label = dict(zip(model.data_.labels, dots[:, :3].tolist(), strict=True))
    assert [list(bar.get_facecolor()[:3]) for bar in axes.patches] == [of_label[c.parent] for c in model.taxonomy_]


def test_the_history_is_what_was_measured(model: Discovery) -> None:
    axes = {panel.get_title(loc="left"): panel for panel in model.plot_history().axes if panel.get_visible()}
    assert {"alignment", "uniformity", "neighbours kept"} <= set(axes)
    assert not {"seconds", "epoch"} & set(axes)
    curve = axes["alignment"].lines[0]
    np.testing.assert_allclose(curve.get_ydata(), [row["alignment"] for row in model.history_])
    np.testing.assert_array_equal(curve.get_xdata(), [1, 2, 3])


def test_pretraining_is_counted_and_shaded() -> None:
    pytest.importorskip("matplotlib")
    from subtaxa.report.plots import plot_history

    history = [{"epoch": i, "coarse": 1.0 / i, "pretraining": 1.0} for i in (1, 2)] + [{"epoch": 1, "pull": 3.0}]
    figure = plot_history(SimpleNamespace(history=history))  # type: ignore[arg-type]
    coarse, pull = figure.axes
    assert coarse.lines[0].get_xdata().tolist() == [1, 2]
    assert pull.lines[0].get_xdata().tolist() == [3]
    assert [panel.patches[0].get_x() + panel.patches[0].get_width() for panel in (coarse, pull)] == [2.5, 2.5]


def test_a_figure_displays_itself_and_none_stays_open(model: Discovery) -> None:
    import matplotlib
    from matplotlib import pyplot

    before, open_before = dict(matplotlib.rcParams), pyplot.get_fignums()
    for figure in (model.plot_map(), model.plot_map("category"), model.plot_sizes(), model.plot_history()):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == open_before


def test_it_draws_in_the_given_axes(model: Discovery) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subfigures(1, 2)
    one, two = left.subplots(), right.subplots()
    figure.draw_without_rendering()  # Creates ticks, in which "$" would start a formula.
    assert model.plot_map(ax=one) is figure
    assert model.plot_sizes(ax=two) is figure
    assert len(one.collections[0].get_offsets()) == len(TEXTS)
    assert len(two.patches) == 6
    assert not any(tick.get_parse_math() for tick in two.get_yticklabels())


@pytest.mark.parametrize("name", ["two\nlines\t", "\x01\x02", "long " * 50, "_hidden", r"\frac{"])
def test_odd_names_are_drawn(model: Discovery, tmp_path: Path, name: str) -> None:
    odd = Discovery.load(model.save(tmp_path / "run"))
    odd.taxonomy_.rename(odd.taxonomy_[1].id, name)
    for figure in (odd.plot_map("category"), odd.plot_sizes()):
        figure._repr_png_()
        names = written(figure.axes[0]) + [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        assert all(len(text) <= 42 and text.isprintable() for text in names)


@pytest.mark.parametrize(
    ("texts", "labels"), [(["one"], ["a"]), (["same"] * 9, ["a"] * 5 + ["b"] * 4), (["one", "two"], ["a", "b"])]
)
def test_tiny_runs_can_be_plotted(quick: dict[str, object], texts: list[str], labels: list[str]) -> None:
    pytest.importorskip("matplotlib")
    tiny = Discovery(**{**quick, "epochs": 0}).fit(texts, labels)  # type: ignore[arg-type]
    figure = tiny.plot_map()
    assert set(written(figure.axes[0])) == set(labels)
    assert len(figure.axes[0].collections[0].get_offsets()) == len(texts)
    figure._repr_png_()
    tiny.plot_map("category")._repr_png_()
    tiny.plot_sizes()._repr_png_()
    with pytest.raises(InputError, match="no history to plot"):
        tiny.plot_history()


def test_mistakes_give_one_sentence(model: Discovery, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="color is 'labels': it must be 'label' or 'category'"):
        model.plot_map("labels")
    for name in ("plot_map", "plot_sizes", "plot_history"):
        with pytest.raises(NotFittedError):
            getattr(Discovery(), name)()
    monkeypatch.delitem(sys.modules, "subtaxa.report.plots")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SubtaxaError, match=r"pip install 'subtaxa\[plots\]'"):
        model.plot_map()


def boxes_of(anchors: np.ndarray, sizes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return anchors + offsets - sizes / 2, anchors + offsets + sizes / 2


def test_names_of_one_place_are_put_around_it() -> None:
    anchors, sizes = np.full((6, 2), 150.0), np.full((6, 2), (60.0, 10.0))
    offsets = place_names(anchors, sizes, anchors, EVERYTHING, np.zeros(6, dtype=bool))
    low, high = boxes_of(anchors, sizes, offsets)
    for i in range(6):
        for j in range(i):
            assert (low[i] >= high[j]).any() or (low[j] >= high[i]).any()


def test_a_name_without_space_is_omitted_unless_it_is_required() -> None:
    anchors, sizes, frame = np.full((3, 2), 50.0), np.full((3, 2), (90.0, 60.0)), np.array([[0.0, 0.0], [100.0, 100.0]])
    offsets = place_names(anchors, sizes, anchors, frame, np.array([False, False, True]))
    assert np.isfinite(offsets).all(1).tolist() == [True, False, True]
    low, high = boxes_of(anchors, sizes, offsets[[0, 2]].repeat([1, 2], axis=0))
    assert (low >= 0).all()
    assert (high <= 100).all()


def test_a_name_avoids_the_points_and_the_edge() -> None:
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal((8, 150), 6, (300, 2)), rng.uniform((0, 0), (400, 300), (30, 2))])
    size = np.array([[50.0, 10.0]])
    offset = place_names(np.array([[8.0, 150.0]]), size, points, EVERYTHING, np.array([False]))
    low, high = boxes_of(np.array([[8.0, 150.0]]), size, offset)
    assert low.min() >= 0
    assert ((points > low) & (points < high)).all(1).sum() < 15
    assert np.abs(offset).max() < 90
