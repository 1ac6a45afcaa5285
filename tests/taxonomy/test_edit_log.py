"""Edits of a run: what they change, what they refuse, replay and undo, and their effect on `assign`."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runs import layout
from subtaxa.runtime.arrays import unit
from subtaxa.taxonomy import edit_log, edits, working_taxonomy
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

TEXTS, LABELS, FINE = planted_corpus(per_topic=20)


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edits") / "run"
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    """A copy of the run folder that the test may change."""
    return Path(shutil.copytree(saved, tmp_path / "run"))


def table(run: Path, name: str) -> list[dict[str, str]]:
    with (run / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def state(model: Discovery) -> object:
    """Everything that an edit can change."""
    return (
        model.labels_.tolist(),
        list(model.taxonomy_),
        model.clusters_.centroids.tolist(),
        model.clusters_.parents.tolist(),
        model.confidences_.tolist(),
        model.known_texts_.keys.tolist(),
        model.known_texts_.categories.tolist(),
    )


def children(model: Discovery, label: str) -> list[Category]:
    return list(model.taxonomy_.children(label))


def consistent(model: Discovery) -> None:
    """Check that sizes, names, order and assignments agree, and that every text is below its label."""
    taxonomy = model.taxonomy_
    assert len({c.id for c in taxonomy}) == len(taxonomy) == len(model.clusters_)
    assert len({(c.parent, c.name) for c in taxonomy}) == len(taxonomy)
    for c in taxonomy:
        members = np.flatnonzero(model.labels_ == c.id)
        assert c.size == len(members) > 0
        assert {model.data_.labels[i] for i in members} == {c.parent}
        assert set(c.examples) <= {model.data_.texts[i] for i in members}
    assert [(c.parent, -c.size) for c in taxonomy] == sorted((c.parent, -c.size) for c in taxonomy)
    assert model.predict(model.data_.texts, model.data_.labels).tolist() == model.labels_.tolist()
    assert model.predict(model.data_.texts).tolist() == model.labels_.tolist()
    probability = model.predict_proba(model.data_.texts[:5])
    assert probability.shape == (5, len(taxonomy))
    np.testing.assert_allclose(probability.sum(1), 1)


def test_merge_keeps_the_first_id_and_changes_nothing_else(run: Path) -> None:
    model = Discovery.load(run)
    one, two, three = children(model, "money")
    before = model.labels_.copy()
    after = model.taxonomy_.merge(two.id, one.id)
    assert after == model.taxonomy_
    assert model.labels_.tolist() == [two.id if i == one.id else i for i in before]
    assert {c.id for c in children(model, "money")} == {two.id, three.id}
    other = model.taxonomy_.by_id()[three.id]
    assert replace(other, difference=three.difference) == three  # The line may name the merged category.
    assert one.id not in model.classes_
    consistent(model)


def test_split_by_number_gives_new_ids_but_the_largest_part_keeps_its_id(run: Path) -> None:
    model = Discovery.load(run)
    old = children(model, "post")[0]
    model.taxonomy_.split(old.name, into=3)
    parts = children(model, "post")
    assert len(parts) == 3
    assert sum(c.size for c in parts) == old.size
    assert parts[0].id == old.id
    assert {c.id for c in parts[1:]} == {6, 7}
    consistent(model)


def test_split_restores_merged_categories(run: Path) -> None:
    model = Discovery.load(run)
    before = model.labels_.copy()
    first, second = (c.id for c in children(model, "access"))
    model.taxonomy_.merge(first, second)
    model.taxonomy_.split(first)
    parts = {c.id for c in children(model, "access")}
    assert len(parts) == 2
    groups = {frozenset(np.flatnonzero(model.labels_ == i)) for i in parts}
    assert groups == {frozenset(np.flatnonzero(before == i)) for i in (first, second)}


@pytest.mark.parametrize("into", [None, 2])
def test_split_does_not_make_a_part_of_a_stray_text(into: int | None) -> None:
    middle, apart, elsewhere = np.eye(24, dtype=np.float32)[:3]
    rng = np.random.default_rng(0)
    centres = np.stack([middle + 0.3 * apart, middle - 0.3 * apart, elsewhere])
    truth = np.repeat([0, 1, 2], [60, 40, 1])
    features = unit(centres[truth] + 0.1 * rng.normal(size=(101, 24)).astype(np.float32))
    working = WorkingTaxonomy(
        texts=[f"text {i}" for i in range(101)],
        labels=["label"] * 101,
        rows=np.arange(2, 103),
        features=features,
        category=np.zeros(101, dtype=np.int64),
        categories={0: Category(0, "label", "all", (), (), 101)},
        centroids={0: features.mean(0)},
    )
    stray = {102}
    parts = [set(part["rows"]) - stray for part in edits.split(working, 0, into)["parts"]]
    assert parts == [set(range(2, 62)), set(range(62, 102))]


def test_a_name_given_by_a_person_survives_other_edits(run: Path) -> None:
    model = Discovery.load(run)
    one, two, three = children(model, "money")
    model.taxonomy_.rename(two.id, "  Money \n back ")
    model.taxonomy_.merge(one.id, two.id)
    assert model.taxonomy_.by_id()[one.id].name == "Money back"
    model.taxonomy_.split(one.id, into=2)
    assert model.taxonomy_.by_id()[one.id].name == "Money back"
    model.taxonomy_.merge(three.id, one.id)
    assert model.taxonomy_.by_id()[three.id].name == "Money back"
    consistent(model)


def test_moved_texts_are_predicted_in_their_new_category(run: Path) -> None:
    model = Discovery.load(run)
    one, two, _ = children(model, "money")
    rows = [model.data_.rows[i] for i in np.flatnonzero(model.labels_ == two.id)[:3]]
    model.taxonomy_.move(rows, one.id)
    assert {c.id: c.size for c in children(model, "money")}[one.id] == one.size + 3
    assert {c.name for c in children(model, "money")} == {
        c.name for c in Discovery.load(run).taxonomy_.children("money")
    }
    consistent(model)


def test_a_category_without_texts_is_removed(run: Path) -> None:
    model = Discovery.load(run)
    one, two, _ = children(model, "money")
    model.taxonomy_.move([model.data_.rows[i] for i in np.flatnonzero(model.labels_ == two.id)], one.id)
    assert two.id not in model.classes_
    consistent(model)


def some_edits(model: Discovery) -> None:
    """Apply one edit of each kind."""
    one, two, three = children(model, "money")
    model.taxonomy_.merge(one.id, three.id)
    model.taxonomy_.split(one.id)
    model.taxonomy_.rename(two.id, "two")
    model.taxonomy_.move([model.data_.rows[int(np.flatnonzero(model.labels_ == two.id)[0])]], one.id)


def test_undo_restores_every_earlier_state(run: Path) -> None:
    model = Discovery.load(run)
    states = [state(model)]
    for change in (
        lambda: model.taxonomy_.split(0, 2),
        lambda: model.taxonomy_.rename(1, "one"),
        lambda: model.taxonomy_.merge(*(c.id for c in children(model, "access"))),
    ):
        change()
        states.append(state(model))
    for expected in reversed(states[:-1]):
        model.taxonomy_.undo()
        assert state(model) == expected
    with pytest.raises(InputError, match="no edit to undo"):
        model.taxonomy_.undo()
    assert [edit["do"] for edit in model.edits_] == ["split", "rename", "merge", "undo", "undo", "undo"]


def test_ids_are_not_reused_after_an_undo(run: Path) -> None:
    model = Discovery.load(run)
    model.taxonomy_.split(0, 2)
    model.taxonomy_.undo()
    model.taxonomy_.split(1, 2)
    assert set(model.classes_) == {*range(6), 7}


def test_an_edited_model_survives_save_and_load(run: Path, tmp_path: Path) -> None:
    model = Discovery.load(run)
    some_edits(model)
    again = Discovery.load(model.save(tmp_path / "elsewhere"))
    assert state(again) == state(model)
    assert again.edits_ == model.edits_
    again.taxonomy_.undo()
    consistent(again)


def test_commands_update_the_tables_and_assign_uses_the_edits(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, _ = children(Discovery.load(run), "money")
    assert main(["merge", str(run), str(one.id), two.name, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"merge {two.name!r} into {one.name!r}\nmoney  (60 texts, 2 categories)\n")
    assert "access" not in shown
    assert main(["rename", str(run), str(one.id), "=Refunds", "--quiet"]) == 0
    assert (
        main(["split", str(run), "post/" + children(Discovery.load(run), "post")[0].name, "--into", "2", "--quiet"])
        == 0
    )
    model = Discovery.load(run)
    consistent(model)
    rows = {row["category_id"]: row for row in table(run, "categories.csv")}
    assert set(rows) == {str(i) for i in model.classes_}
    assert rows[str(one.id)]["category"] == "'=Refunds"
    assert [int(row["category_id"]) for row in table(run, "assignments.csv")] == model.labels_.tolist()
    assert "=Refunds" in (run / "report.html").read_text("utf-8")
    new = tmp_path / "new.csv"
    new.write_text("text\n" + "\n".join(TEXTS[:30]) + "\n", encoding="utf-8")
    assert main(["assign", str(run), str(new), "--out", str(tmp_path / "filed.csv"), "--quiet"]) == 0
    filed = table(tmp_path, "filed.csv")
    assert [int(row["category_id"]) for row in filed] == model.predict(TEXTS[:30]).tolist()
    assert "'=Refunds" in {row["category"] for row in filed}
    capsys.readouterr()
    assert main(["undo", str(run), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("undo: split ")
    assert main(["info", str(run)]) == 0
    assert "=Refunds" in capsys.readouterr().out


def test_the_log_grows_line_by_line(run: Path) -> None:
    before = ""
    for arguments in (["split", str(run), "0"], ["rename", str(run), "1", "eins"], ["undo", str(run)]):
        assert main([*arguments, "--quiet"]) == 0
        log = (run / layout.EDITS).read_text("utf-8")
        assert log.startswith(before)
        assert log.count("\n") == before.count("\n") + 1
        before = log
    assert [json.loads(line)["edit"] for line in before.splitlines()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["merge", "RUN", "0", "99"], "there is no category '99'"),
        (["merge", "RUN", "0"], "at least two different categories"),
        (["merge", "RUN", "0", "0"], "at least two different categories"),
        (["merge", "RUN", "0", "5"], "merge only categories of one label"),
        (["split", "RUN", "nothing"], "there is no category 'nothing'"),
        (["split", "RUN", "0", "--into", "1"], "cannot be split into 1"),
        (["split", "RUN", "0", "--into", "1000"], "different texts, so use 2 to"),
        (["split", "RUN", "0", "--into", "two"], "into is 'two': it must be a whole number"),
        (["rename", "RUN", "0", "  "], "is empty"),
        (["move", "RUN", "999999", "--to", "0"], "no text has row 999999"),
        (["move", "RUN", "x", "--to", "0"], "row is 'x'"),
        (["undo", "RUN"], "there is no edit to undo"),
        (["undo", "RUN/model"], "is not a finished run"),
    ],
)
def test_a_bad_edit_gives_one_sentence_and_changes_nothing(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert message in refused(capsys, [*(a.replace("RUN", str(run)) for a in arguments), "--quiet"])
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_no_text_moves_to_another_label(run: Path) -> None:
    model = Discovery.load(run)
    target = children(model, "post")[0]
    foreign = model.data_.rows[model.data_.labels.index("money")]
    before = state(model)
    with pytest.raises(InputError, match="move a text only within its label"):
        model.taxonomy_.move([foreign], target.id)
    assert state(model) == before
    assert model.edits_ == []


def test_a_taken_name_is_refused(run: Path) -> None:
    model = Discovery.load(run)
    one, two, _ = children(model, "money")
    with pytest.raises(InputError, match="choose another name"):
        model.taxonomy_.rename(one.id, two.name)
    model.taxonomy_.rename(one.id, one.name)  # A category may keep its own name.
    other_label = children(model, "post")[0]
    model.taxonomy_.rename(one.id, other_label.name)  # Names may repeat across labels.


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        "{}",
        '{"edit": 1, "do": "merge", "categories": [0, 1]}',
        '{"edit": 2, "says": "", "do": "undo"}',
        '{"edit": 1, "says": "", "do": "undo"}',
        '{"edit": 1, "says": "", "do": "explode"}',
        '{"edit": 1, "says": "", "do": "merge", "categories": [0, "1"]}',
        '{"edit": 1, "says": "", "do": "merge", "categories": [0, 5]}',
        '{"edit": 1, "says": "", "do": "split", "category": 0, "parts": []}',
        '{"edit": 1, "says": "", "do": "split", "category": 0, "parts": [{"id": 0, "rows": [2]}]}',
        '{"edit": 1, "says": "", "do": "move", "rows": [0.5], "to": 1}',
        '{"edit": 1, "says": "", "do": "name", "category": 0, "name": "x"}',
        '{"edit": 1, "says": "", "at": NaN, "do": "rename", "category": 0, "name": "x"}',
    ],
)
def test_a_damaged_log_gives_one_sentence(run: Path, line: str) -> None:
    shutil.copy(run / layout.TAXONOMY, run / layout.TRAINED)
    (run / layout.EDITS).write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"edits\.jsonl|no edit to undo"):
        Discovery.load(run)


def test_a_taxonomy_without_an_estimator_cannot_be_edited() -> None:
    with pytest.raises(SubtaxaError, match="belongs to no estimator"):
        Taxonomy(()).undo()


def test_a_name_of_two_categories_needs_the_label() -> None:
    same = Taxonomy(tuple(Category(i, label, "Other", (), (), 1) for i, label in enumerate(["a", "b"])))
    assert edits.find_category(same, "B/other") == 1
    assert edits.find_category(same, "0") == 0
    with pytest.raises(InputError, match="use a/Other or b/Other"):
        edits.find_category(same, "other")
    with pytest.raises(InputError, match="did you mean 'Other'"):
        edits.find_category(same, "othr")


def made_up(seed: int) -> WorkingTaxonomy:
    """Two labels with three and two categories of six texts each."""
    rng = np.random.default_rng(seed)
    category = np.repeat(np.arange(5), 6)
    labels = ["a" if c < 3 else "b" for c in category]
    features = np.eye(8, dtype=np.float32)[category] + 0.1 * rng.normal(size=(30, 8)).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return WorkingTaxonomy(
        texts=[f"word{c} text{i}" for i, c in enumerate(category)],
        labels=labels,
        rows=np.arange(2, 32),
        features=features,
        category=category,
        categories={i: Category(i, "a" if i < 3 else "b", f"word{i}", (), (), 6) for i in range(5)},
        centroids={i: features[category == i].mean(0) for i in range(5)},
    )


requests = st.one_of(
    st.tuples(st.just("merge"), st.lists(st.integers(0, 9), min_size=2, max_size=3)),
    st.tuples(st.just("split"), st.integers(0, 9), st.sampled_from([None, 2, 3])),
    st.tuples(st.just("rename"), st.integers(0, 9), st.sampled_from(["x", "y", "word1"])),
    st.tuples(st.just("name"), st.integers(0, 9), st.sampled_from(["x", "y", "word1"]), st.just("a model")),
    st.tuples(st.just("move"), st.lists(st.integers(2, 31), min_size=1, max_size=4), st.integers(0, 9)),
    st.tuples(st.just("undo")),
)
MAKE: dict[str, Callable[..., edit_log.Edit]] = {
    "merge": edits.merge,
    "split": edits.split,
    "rename": edits.rename,
    "name": edits.name,
    "move": edits.move,
}


@hypothesis_settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(st.lists(requests, max_size=8))
def test_any_edits_can_be_replayed_from_their_log(asked: list[tuple[object, ...]]) -> None:
    base, log = made_up(0), []
    for kind, *what in asked:
        now = edit_log.replay(base, log)
        try:
            edit = edits.undo(log) if kind == "undo" else MAKE[str(kind)](now, *what)
            longer = [*log, edit_log.log_entry(edit, log)]
            edit_log.replay(base, longer)
        except InputError:
            continue
        log = longer
    read = edit_log.read_log(edit_log.write_log(log), "log")
    assert read == json.loads(json.dumps(log))
    found = edit_log.replay(base, read)
    assert base.category.tolist() == made_up(0).category.tolist()
    assert set(found.category.tolist()) == set(found.categories) == set(found.centroids)
    for i, c in found.categories.items():
        assert c.id == i
        assert c.size == len(found.members(i))
        assert {found.labels[m] for m in found.members(i)} == {c.parent}
    assert len({(c.parent, c.name) for c in found.categories.values()}) == len(found.categories)


def test_the_log_keeps_the_names_that_an_edit_led_to_and_replaying_it_embeds_nothing() -> None:
    base = made_up(0)
    base.texts = [f"{'abcde'[i // 6] * 4} parcel" for i in range(30)]
    asked: list[str] = []

    def embed(phrases: Sequence[str]) -> np.ndarray:
        asked.extend(phrases)
        return np.ones((len(phrases), base.features.shape[1]), dtype=np.float32)

    working = edit_log.replay(base, [])
    working.embed = embed
    entry = edit_log.apply_new(working, edits.merge(working, [0, 1]), [])
    name = working.categories[0].name
    assert entry["names"] == [{"id": 0, "name": name}]
    assert name in asked
    n_asked = len(asked)
    again = edit_log.replay(base, [entry])
    assert again.categories[0].name == name
    assert len(asked) == n_asked


@hypothesis_settings(max_examples=30, derandomize=True, deadline=None, database=None)
@given(st.lists(requests, min_size=2, max_size=8))
def test_a_log_leads_to_the_same_categories_whether_edits_are_applied_one_by_one_or_replayed(
    asked: list[tuple[object, ...]],
) -> None:
    base, log = made_up(1), list[edit_log.Edit]()
    working = base.copy()
    for kind, *what in asked:
        if kind == "undo":
            continue
        before = working.copy()
        try:
            log.append(edit_log.apply_new(working, MAKE[str(kind)](working, *what), log))
        except InputError:
            working = before
    found = edit_log.replay(base, log)
    assert found.categories == working.categories
    assert found.category.tolist() == working.category.tolist()
    for i, centroid in working.centroids.items():
        np.testing.assert_array_equal(found.centroids[i], centroid)


def test_replaying_a_long_log_describes_each_label_once(monkeypatch: pytest.MonkeyPatch) -> None:
    base, log = made_up(0), list[edit_log.Edit]()
    working = base.copy()
    for i in range(40):
        edit = edits.move(working, [2], (1, 0)[i % 2]) if i % 3 else edits.rename(working, 4, f"name {i}")
        log.append(edit_log.apply_new(working, edit, log))
    described: list[int] = []
    real = working_taxonomy.name_categories
    monkeypatch.setattr(
        working_taxonomy, "name_categories", lambda texts, *more: described.append(len(texts)) or real(texts, *more)
    )
    found = edit_log.replay(base, log)
    assert described == [18]  # The label "a"; a new name in "b" changes only the lines about differences.
    assert found.categories == working.categories
