"""New texts for a run: they are assigned and kept, and new categories are proposed for groups that fit none."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus
from helpers.planted import blobs, unit_rows

from subtaxa.cli.main import main
from subtaxa.clustering.new_categories import new_categories
from subtaxa.discovery import Discovery

TEXTS, LABELS, FINE = planted_corpus(per_topic=30)
OLD = [i for i, fine in enumerate(FINE) if fine != "invoice" and i % 3]
NEW = [i for i in range(len(TEXTS)) if i not in set(OLD)]


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update") / "run"
    model = Discovery(5, **quick).fit([TEXTS[i] for i in OLD], [LABELS[i] for i in OLD])  # type: ignore[arg-type]
    return model.save(folder)


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


@pytest.fixture
def more(tmp_path: Path) -> Path:
    file = tmp_path / "more.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["text", "team"], *([TEXTS[i], LABELS[i]] for i in NEW)])
    return file


def test_categories_keep_ids_names_and_texts_and_a_new_one_is_proposed(
    run: Path, more: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Discovery.load(run)
    person = before.taxonomy_.children("post")[0].id
    assert main(["rename", str(run), str(person), "Parcels", "--quiet"]) == 0
    assert main(["update", str(run), str(more), "--label", "team", "--quiet"]) == 0
    after = Discovery.load(run)
    assert len(after.data_) == len(TEXTS)
    np.testing.assert_array_equal(after.labels_[: len(OLD)], before.labels_)
    old, new = before.taxonomy_.by_id(), after.taxonomy_.by_id()
    assert set(old) < set(new)
    for i, category in old.items():
        assert new[i].name == ("Parcels" if i == person else category.name)
        assert new[i].size >= category.size
        assert new[i].stability == category.stability
    proposed = [c for i, c in new.items() if i not in old]
    assert {c.parent for c in proposed} == {"money"}
    fine = np.array([FINE[i] for i in [*OLD, *NEW]])
    inside = fine[np.isin(after.labels_, [c.id for c in proposed])]
    assert (inside == "invoice").mean() > 0.9
    assert len(inside) >= 15
    assert main(["split", str(run), str(person), "--into", "2", "--quiet"]) == 0
    assert Discovery.load(run).taxonomy_.by_id()[person].name == "Parcels"  # A name from a person is final.
    assert main(["undo", str(run), "--quiet"]) == 0
    # Edits before the update cannot be undone.
    assert "no edit to undo" in refused(capsys, ["undo", str(run), "--quiet"])
    assert main(["update", str(run), str(more), "--label", "team", "--quiet"]) == 0
    past = [json.loads(line)["says"] for line in (run / "edits-before.jsonl").read_text("utf-8").splitlines()]
    assert [says.split()[0] for says in past] == ["rename", "split", "undo:"]  # But the log keeps them.


def test_an_updated_run_assigns_and_can_be_edited(run: Path, more: Path, tmp_path: Path) -> None:
    assert main(["update", str(run), str(more), "--quiet"]) == 0
    model = Discovery.load(run)
    np.testing.assert_array_equal(model.predict(model.data_.texts, model.data_.labels), model.labels_)
    first, second = (c.id for c in model.taxonomy_.children("money")[:2])
    assert main(["merge", str(run), str(first), str(second), "--quiet"]) == 0
    assert main(["assign", str(run), str(more), "--out", str(tmp_path / "out.csv"), "--quiet"]) == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert str(second) not in {row["category_id"] for row in csv.DictReader(file)}


def test_ids_are_not_reused_after_an_update(run: Path, more: Path) -> None:
    model = Discovery.load(run)
    label = "money"
    first = model.taxonomy_.children(label)[0].id
    model.taxonomy_.split(first, 3)
    parts = [edit["id"] for edit in model.edits_[-1]["parts"]]
    model.taxonomy_.merge(*parts)
    model.save(run, overwrite=True)
    assert main(["update", str(run), str(more), "--label", "team", "--quiet"]) == 0
    after = Discovery.load(run)
    assert not {c.id for c in after.taxonomy_} & {*parts[1:]}
    after.taxonomy_.split(first, 2)
    assert not {c.id for c in after.taxonomy_} & {*parts[1:]}


def test_texts_of_known_categories_propose_nothing(run: Path) -> None:
    model = Discovery.load(run)
    some = [i for i in NEW if FINE[i] != "invoice"]
    done = model.update([TEXTS[i] for i in some], [LABELS[i] for i in some])
    assert done.proposed == ()
    assert done.n_assigned == len(some)


def test_a_single_new_text_is_counted_in_the_singular(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("text\nparcel lost\n", encoding="utf-8")
    assert main(["update", str(run), str(file), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("1 new text added to existing categories; open ")


def test_bad_updates_change_nothing(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    empty, strange = tmp_path / "empty.csv", tmp_path / "strange.csv"
    empty.write_text("text\n", encoding="utf-8")
    strange.write_text("text,team\nparcel lost,space\n", encoding="utf-8")
    assert "empty" in refused(capsys, ["update", str(run), str(empty), "--quiet"])
    assert "'space'" in refused(capsys, ["update", str(run), str(strange), "--label", "team", "--quiet"])
    assert "no column 'x'" in refused(capsys, ["update", str(run), str(strange), "--label", "x", "--quiet"])
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_only_a_separate_group_of_new_texts_becomes_a_category() -> None:
    data = blobs([[60, 60], [80, 30]], spread=0.1, dim=16)
    new = np.arange(len(data.truth)) % 4 == 0
    new |= data.truth == 3  # All texts of this category are new.
    found = new_categories(data.features[~new], data.labels[~new], data.features[new], data.labels[new], 5)
    assert [sorted(set(data.truth[new][positions].tolist())) for positions in found] == [[3]]
    assert len(found[0]) >= 25
    assert new_categories(data.features[~new], data.labels[~new], data.features[new], data.labels[new], 40) == []


def test_a_few_scattered_texts_do_not_become_a_category() -> None:
    data = blobs([[60, 60]], spread=0.1, dim=16)
    strangers = unit_rows(np.random.default_rng(3).normal(size=(6, 16)))
    assert new_categories(data.features, data.labels, strangers, np.zeros(6, dtype=np.int64), 3) == []
