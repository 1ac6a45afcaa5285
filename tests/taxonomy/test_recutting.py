"""Recut: other categories from the tree of a run, without training."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.corpus import planted_corpus

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.discovery import Discovery
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import layout
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.edit_log import write_log

TEXTS, LABELS, FINE = planted_corpus(per_topic=20)
OLD_RUN = Path(__file__).parents[1] / "runs" / "run_0_1_0"


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recut") / "run"
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def model(saved: Path) -> Discovery:
    return Discovery.load(saved)


def shown(model: Discovery) -> tuple[list[int], list[Category]]:
    """What a person sees: the category of each text, and the categories."""
    return model.labels_.tolist(), list(model.taxonomy_)


def names(model: Discovery) -> dict[int, str]:
    return {category.id: category.name for category in model.taxonomy_}


def consistent(model: Discovery) -> None:
    """Check that ids, sizes, names, examples and assignments agree, and that every text is below its label."""
    taxonomy = model.taxonomy_
    assert len({c.id for c in taxonomy}) == len(taxonomy) == len(model.clusters_)
    assert len({(c.parent, c.name) for c in taxonomy}) == len(taxonomy)
    for c in taxonomy:
        members = np.flatnonzero(model.labels_ == c.id)
        assert c.size == len(members) > 0
        assert {model.data_.labels[i] for i in members} == {c.parent}
        assert c.name
        assert c.examples
        assert set(c.examples) <= {model.data_.texts[i] for i in members}
    assert model.predict(model.data_.texts, model.data_.labels).tolist() == model.labels_.tolist()


def groups(model: Discovery) -> dict[int, tuple[int, ...]]:
    """The nodes of each category."""
    return dict(model._fitted_state().current.groups)


def test_every_total_of_the_tree_is_possible(model: Discovery) -> None:
    tree = model._fitted_state().tree
    assert tree is not None
    assert tree.tree.n_parts == 37
    for total in (3, 4, 7, 12, 20, 37):
        assert len(model.recut(total)) == total
        consistent(model)


def test_the_planted_categories_are_found_again(model: Discovery) -> None:
    """The fit was asked for six categories, and so is the recut."""
    first = shown(model)
    before = groups(model)
    model.recut(10)
    assert len(model.taxonomy_) == 10
    model.recut(6)
    assert groups(model) == before
    assert names(model) == {c.id: c.name for c in first[1]}
    assert model.labels_.tolist() == first[0]


def test_ids_and_names_stay_and_come_back(model: Discovery) -> None:
    seen: dict[tuple[int, ...], int] = {}
    names_of: dict[int, set[str]] = {}
    for total in (6, 9, 4, 12, 6, 3, 9, 12):
        model.recut(total)
        for i, group in groups(model).items():
            assert seen.setdefault(group, i) == i  # The same nodes have the same id in every cut.
        for i, name in names(model).items():
            names_of.setdefault(i, set()).add(name)
    assert len(set(seen.values())) == len(seen)
    assert all(len(some) == 1 for some in names_of.values()), names_of


def test_categories_that_stay_are_not_touched(model: Discovery) -> None:
    before = model.taxonomy_.by_id()
    after = model.recut(7).by_id()
    assert len(set(before) & set(after)) == 5
    assert len(set(after) - set(before)) == 2
    for i in set(before) & set(after):
        assert (after[i].name, after[i].keywords) == (before[i].name, before[i].keywords)
    assert min(set(after) - set(before)) > max(before)


def test_numbers_for_some_labels_leave_the_others_as_they_are(model: Discovery) -> None:
    model.taxonomy_.rename(model.taxonomy_.children("post")[0].id, "Parcels")
    model.taxonomy_.split(model.taxonomy_.children("access")[0].id, 2)
    before = {c.id: c for label in ("post", "access") for c in model.taxonomy_.children(label)}
    labels = model.labels_.copy()
    model.recut({"money": 5})
    assert len(model.taxonomy_.children("money")) == 5
    assert {c.id: c for label in ("post", "access") for c in model.taxonomy_.children(label)} == before
    others = np.array([label != "money" for label in LABELS])
    assert (model.labels_[others] == labels[others]).all()
    model.recut({"money": 2, "access": 1})
    assert [len(model.taxonomy_.children(label)) for label in ("money", "access", "post")] == [2, 1, 1]
    consistent(model)


def test_the_name_that_a_person_gave_stays_with_its_nodes(model: Discovery) -> None:
    chosen = model.taxonomy_.children("money")[1].id
    model.taxonomy_.rename(chosen, "My own name")
    model.recut(3)
    assert "My own name" not in names(model).values()
    model.recut(6)
    found = model.taxonomy_.by_id()[chosen]
    assert (found.name, found.named) == ("My own name", True)
    consistent(model)


def test_the_name_stays_with_its_nodes_after_an_update(model: Discovery) -> None:
    chosen = model.taxonomy_.children("money")[1].id
    model.taxonomy_.rename(chosen, "My own name")
    model.update(["refund owed back please", "my parcel is late"], ["money", "post"])
    model.recut(3)
    assert "My own name" not in names(model).values()
    model.recut(6)
    found = model.taxonomy_.by_id()[chosen]
    assert (found.name, found.named) == ("My own name", True)
    consistent(model)


def test_a_name_that_another_category_has_taken_is_not_given_twice(model: Discovery) -> None:
    first, second = model.taxonomy_.children("access")
    model.taxonomy_.rename(first.id, "Login")
    model.recut({"access": 1})
    model.taxonomy_.rename(model.taxonomy_.children("access")[0].id, "Login")
    model.recut({"access": 3})
    model.recut({"access": 2})
    assert names(model)[first.id] == "Login"
    assert names(model)[second.id] == second.name
    model.recut({"access": 1})
    assert [c.name for c in model.taxonomy_.children("access")] == ["Login"]
    consistent(model)


def rows_of(model: Discovery, category: int) -> list[int]:
    return [model.data_.rows[i] for i in np.flatnonzero(model.labels_ == category)]


def test_moved_texts_stay_in_their_category_if_it_is_still_there(model: Discovery) -> None:
    first, second = (c.id for c in model.taxonomy_.children("access"))
    moved = rows_of(model, first)[:3]
    model.taxonomy_.move(moved, second)
    model.recut({"money": 5})
    assert set(moved) <= set(rows_of(model, second))
    model.recut({"access": 1})
    only = model.taxonomy_.children("access")[0].id
    assert set(moved) <= set(rows_of(model, only))
    model.recut({"access": 2})
    assert {c.id for c in model.taxonomy_.children("access")} == {first, second}
    assert set(moved) <= set(rows_of(model, second))  # It is back, and so are they.
    consistent(model)


def test_moved_texts_stay_in_their_category_after_an_update(model: Discovery, tmp_path: Path) -> None:
    first, second = (c.id for c in model.taxonomy_.children("access"))
    moved = rows_of(model, first)[:3]
    model.taxonomy_.move(moved, second)
    model.update(["refund owed back please", "my parcel is late"], ["money", "post"])
    again = Discovery.load(model.save(tmp_path / "run"))
    for updated in (model, again):
        updated.recut({"access": 1})
        updated.recut({"access": 2})
        assert {c.id for c in updated.taxonomy_.children("access")} == {first, second}
        assert set(moved) <= set(rows_of(updated, second))
        consistent(updated)
    assert shown(model) == shown(again)


@pytest.mark.parametrize(
    "change",
    [
        lambda edit, tree: edit.update(left=-1),
        lambda edit, tree: edit.update(right=tree.n_nodes),
        lambda edit, tree: edit.update(left=edit["right"]),
        lambda edit, tree: edit.update(left=int(np.flatnonzero(tree.labels != tree.labels[edit["right"]])[0])),
        lambda edit, tree: edit.update(right=int(tree.parents[edit["left"]])),
        lambda edit, tree: edit["groups"][0].update(id=-1),
        lambda edit, tree: edit["groups"][0].update(nodes=[]),
        lambda edit, tree: edit["groups"][0].update(nodes=[tree.n_nodes]),
        lambda edit, tree: edit["groups"][0].update(nodes=edit["groups"][1]["nodes"]),
        lambda edit, tree: edit["groups"].pop(),
    ],
)
def test_a_log_with_a_strange_answer_is_refused(
    saved: Path, tmp_path: Path, change: Callable[[Any, CategoryTree], object]
) -> None:
    run = Path(shutil.copytree(saved, tmp_path / "run"))
    model = Discovery.load(run)
    described = model._fitted_state().tree
    assert described is not None
    model.recut({"access": 3})
    (edit,) = model._fitted_state().edits
    left, right, _ = (group["nodes"][0] for group in edit["groups"])
    edit |= {"do": "answer", "left": left, "right": right, "same": False}
    shutil.copy(run / layout.TAXONOMY, run / layout.TRAINED)
    (run / layout.EDITS).write_text(write_log([edit]), "utf-8")
    assert shown(Discovery.load(run)) == shown(model)
    change(edit, described.tree)
    (run / layout.EDITS).write_text(write_log([edit]), "utf-8")
    with pytest.raises(InputError, match="does not belong to this run"):
        Discovery.load(run)


def test_a_category_of_which_every_text_was_moved_does_not_come_back(model: Discovery) -> None:
    first, second = (c.id for c in model.taxonomy_.children("access"))
    model.taxonomy_.move(rows_of(model, first), second)
    assert [c.id for c in model.taxonomy_.children("access")] == [second]
    model.recut({"access": 2})
    assert [c.id for c in model.taxonomy_.children("access")] == [second]
    assert model.taxonomy_.children("access")[0].size == 40
    consistent(model)


def test_a_recut_is_undone(model: Discovery, tmp_path: Path) -> None:
    model.taxonomy_.rename(model.taxonomy_.children("money")[0].id, "Mine")
    before = shown(model)
    model.recut(12)
    after = shown(model)
    model.taxonomy_.undo()
    assert shown(model) == before
    assert [edit["do"] for edit in model.edits_] == ["rename", "recut", "undo"]
    model.recut(12)
    assert shown(model) == after  # The same nodes have the same ids again.
    model.taxonomy_.split(model.taxonomy_.children("post")[0].id, 2)
    consistent(model)


def test_a_saved_recut_is_loaded_as_it_was(model: Discovery, tmp_path: Path) -> None:
    model.recut(9)
    model.taxonomy_.rename(model.taxonomy_.children("money")[0].id, "Mine")
    model.recut({"money": 2})
    model.recut(finer=True)
    again = Discovery.load(model.save(tmp_path / "run"))
    assert shown(again) == shown(model)
    assert groups(again) == groups(model)
    assert shown(again) == shown(Discovery.load(again.save(tmp_path / "run", overwrite=True)))


def test_finer_and_coarser_are_about_a_quarter_and_a_fifth(model: Discovery) -> None:
    assert len(model.recut(20)) == 20
    assert len(model.recut(finer=True)) == 25
    assert len(model.recut(finer=False)) == 20
    model.recut(4)
    assert len(model.recut(finer=True)) == 5  # At least one more, and at least one fewer.
    model.recut(finer=False)
    assert len(model.recut(finer=False)) == 3


def test_merged_and_split_categories_can_be_recut(model: Discovery) -> None:
    first, second, third = (c.id for c in model.taxonomy_.children("money"))
    before = groups(model)
    model.taxonomy_.merge(first, third)
    merged = groups(model)[first]
    tree = model._fitted_state().tree
    assert tree is not None
    parts = {part for node in merged for part in tree.tree.parts_of(node).tolist()}
    assert parts == {part for i in (first, third) for node in before[i] for part in tree.tree.parts_of(node).tolist()}
    model.recut({"money": 3})
    assert {group for i, group in groups(model).items() if i in names(model)} >= {before[second], before[third]}
    consistent(model)
    model.taxonomy_.split(second, 2)
    assert second not in groups(model)
    model.recut({"money": 3})
    assert len(model.taxonomy_.children("money")) == 3
    consistent(model)


def test_an_updated_run_can_be_recut(model: Discovery) -> None:
    extra, labels, _ = planted_corpus(per_topic=6, seed=9)
    model.recut(8)
    model.update(extra, labels)
    for total in (3, 6, 9, 20):
        assert len(model.recut(total)) == total
        consistent(model)
    assert len(model.labels_) == len(TEXTS) + len(extra)


@pytest.mark.parametrize("seed", range(3))
def test_any_series_of_edits_leaves_the_run_consistent(model: Discovery, seed: int) -> None:
    rng, refused = np.random.default_rng(seed), 0
    for _ in range(8):
        kind = rng.choice(["recut", "merge", "split", "move", "rename", "undo", "label"])
        categories = [c for c in model.taxonomy_.children("money") if c.size > 2]
        some = int(rng.choice([c.id for c in categories]))
        try:
            if kind == "recut":
                model.recut(int(rng.integers(3, 30)))
            elif kind == "label":
                model.recut({"money": int(rng.integers(1, 10))})
            elif kind == "merge":
                model.taxonomy_.merge(some, int(rng.choice([c.id for c in categories])))
            elif kind == "split":
                model.taxonomy_.split(some, 2)
            elif kind == "move":
                model.taxonomy_.move(rows_of(model, some)[:2], int(rng.choice([c.id for c in categories])))
            elif kind == "rename":
                model.taxonomy_.rename(some, f"name {rng.integers(1000)}")
            else:
                model.taxonomy_.undo()
        except InputError:
            refused += 1
        consistent(model)
    assert refused < 8


@pytest.mark.parametrize("total", [2, 0, -1, 38, 1000])
def test_a_number_beyond_the_tree_is_refused(model: Discovery, total: int) -> None:
    before = shown(model)
    with pytest.raises(SubtaxaError, match=rf"categories is {total}: "):
        model.recut(total)
    assert shown(model) == before
    assert model.edits_ == []


@pytest.mark.parametrize("number", [16, 99])
def test_a_number_beyond_the_tree_of_a_label_is_refused(model: Discovery, number: int) -> None:
    sentence = f"categories asks for {number} categories of 'money': the tree of this run has 1 to 15"
    with pytest.raises(SubtaxaError, match=sentence):
        model.recut({"post": 2, "money": number})


@pytest.mark.parametrize("given", ["auto", 2.5, True, {}, {"money": 0}, {"money": "3"}, "six", [6]])
def test_what_is_no_number_is_refused(model: Discovery, given: object) -> None:
    with pytest.raises(SubtaxaError, match="categories is "):
        model.recut(given)  # type: ignore[arg-type]
    assert model.edits_ == []


def test_an_unknown_label_is_refused_with_the_one_that_was_meant(model: Discovery) -> None:
    with pytest.raises(SubtaxaError, match=r"'mony', which no text has: did you mean 'money'\?"):
        model.recut({"mony": 3})


@pytest.mark.parametrize("what", [{}, {"categories": 6, "finer": True}])
def test_a_recut_needs_a_number_or_a_direction(model: Discovery, what: dict[str, object]) -> None:
    with pytest.raises(InputError, match="recut needs either a number of categories, or finer or coarser"):
        model.edit("recut", **what)


def test_no_coarser_than_one_category_for_each_label_and_no_finer_than_the_parts(model: Discovery) -> None:
    model.recut(3)
    with pytest.raises(InputError, match="categories is 2: the tree of this run has 3 to 37 categories"):
        model.recut(finer=False)
    model.recut(37)
    with pytest.raises(InputError, match="categories is 46: the tree of this run has 3 to 37 categories"):
        model.recut(finer=True)


def test_a_run_of_an_earlier_version_is_refused_in_one_sentence(tmp_path: Path) -> None:
    model = Discovery.load(shutil.copytree(OLD_RUN, tmp_path / "run"))
    before = shown(model)
    with pytest.raises(InputError, match=r"^this run has no tree of categories, .*: run discover again$"):
        model.recut(4)
    assert shown(model) == before
