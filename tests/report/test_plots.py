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
from subtaxa.report import time_plot
from subtaxa.report.label_placement import place_names

TEXTS, LABELS, FINE = planted_corpus()
DOLLARS = {"money": "money $5 $x^{", "access": "access_$", "post": r"post \$ $$"}
DAYS = [None if i == 3 else f"2024-{1 + i % 12:02}-17" for i in range(len(TEXTS))]
EVERYTHING = np.array([[0.0, 0.0], [400.0, 300.0]])


@pytest.fixture(scope="module")
def model(quick: dict[str, object]) -> Discovery:
    pytest.importorskip("matplotlib")
    columns = {"id": range(len(TEXTS)), "day $_{": DAYS}
    labels = [DOLLARS[label] for label in LABELS]
    found = Discovery(6, **quick).fit(TEXTS, labels, columns=columns)  # type: ignore[arg-type]
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


def test_the_tree_has_each_category_below_its_label(model: Discovery) -> None:
    axes = model.plot_tree().axes[0]
    rows = [tick.get_text() for tick in axes.get_yticklabels()]
    bold = [tick.get_fontweight() == "bold" for tick in axes.get_yticklabels()]
    named: dict[str, set[str]] = {}
    for row, is_label in zip(rows, bold, strict=True):
        if is_label:
            label = row
        else:
            named.setdefault(label, set()).add(row.rpartition(" (")[0])
    assert named == {label: {c.name for c in model.taxonomy_.children(label)} for label in DOLLARS.values()}
    sizes = [len(children) for children in named.values()]
    assert len(axes.lines) == sum(max(size - 1, 1) for size in sizes)  # Each join makes one of two.


def test_the_time_plot_counts_each_dated_text_in_its_month(model: Discovery) -> None:
    figure = model.plot_over_time()
    assert figure.get_supylabel() == "texts per month"
    assert figure.get_supxlabel() == "day $_{"
    counts = {axes.get_title(loc="left"): [bar.get_height() for bar in axes.patches] for axes in figure.axes}
    months = np.array([int((day or "0000-00")[5:7]) for day in DAYS])
    for category in model.taxonomy_:
        own = months[model.labels_ == category.id]
        assert counts[category.name] == [(own == month).sum() for month in range(1, 13)]
    assert sum(map(sum, counts.values())) == len(TEXTS) - 1
    one = model.plot_over_time("day $_{", label=DOLLARS["money"])
    assert len(one.axes) == len(model.taxonomy_.children(DOLLARS["money"]))


@pytest.mark.parametrize(
    ("days", "unit"),
    [
        (["2024-01-01", "2024-01-01"], "day"),
        (["2024-01-01", "2024-06-01"], "week"),
        (["2020-01-01", "2028-06-01"], "quarter"),
        (["1800-01-01", "2024-06-01"], "year"),
    ],
)
def test_the_period_follows_from_the_range_of_the_dates(days: list[str], unit: str) -> None:
    name, period, begin = time_plot._periods(np.array(days, "datetime64[us]"))
    assert name == unit
    assert period.min() == 0
    assert len(begin) == 2 + period.max()


def test_a_time_plot_needs_dates_and_a_label_of_the_run(model: Discovery) -> None:
    with pytest.raises(InputError, match="column 'id' holds no dates"):
        model.plot_over_time("id")
    with pytest.raises(InputError, match="there is no label 'nowhere'"):
        model.plot_over_time(label="nowhere")
    with pytest.raises(InputError, match="'when'"):
        model.plot_over_time("when")


def test_a_figure_displays_itself_and_none_stays_open(model: Discovery) -> None:
    import matplotlib
    from matplotlib import pyplot

    before, open_before = dict(matplotlib.rcParams), pyplot.get_fignums()
    figures = (
        model.plot_map(),
        model.plot_map("category"),
        model.plot_sizes(),
        model.plot_tree(),
        model.plot_history(),
    )
    for figure in (*figures, model.plot_over_time()):
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
    for figure in (odd.plot_map("category"), odd.plot_sizes(), odd.plot_tree(), odd.plot_over_time()):
        figure._repr_png_()
        names = written(figure.axes[0]) + [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        assert all(len(text) <= 42 + len(" (99)") and text.isprintable() for text in names)


@pytest.mark.parametrize(
    ("texts", "labels"), [(["one"], ["a"]), (["same"] * 9, ["a"] * 5 + ["b"] * 4), (["one", "two"], ["a", "b"])]
)
def test_tiny_runs_can_be_plotted(quick: dict[str, object], texts: list[str], labels: list[str]) -> None:
    pytest.importorskip("matplotlib")
    tiny = Discovery(**{**quick, "epochs": 0}).fit(texts, labels)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no column holds dates"):
        tiny.plot_over_time()
    assert len(tiny.plot_tree().axes[0].get_yticklabels()) == len(set(labels)) + len(tiny.taxonomy_)
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
