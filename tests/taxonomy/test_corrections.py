"""Corrections from the report: they are checked and then applied as edits, all or none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery
from subtaxa.runs import layout, reading

TEXTS, LABELS, _ = planted_corpus(per_topic=15)
CORRECTIONS = "subtaxa corrections"


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corrections") / "run"
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def written(folder: Path, *corrections: dict[str, Any], **other: Any) -> str:
    """A file as downloaded from the report."""
    path = folder.parent / "corrections.json"
    known = reading.read_run(folder)["data"]["fingerprint"]
    content = {CORRECTIONS: 1, "run": known, "edits": 0, "corrections": list(corrections)} | other
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def contents(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_all_kinds_in_one_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Discovery.load(run)
    first, second, third = model.taxonomy_.children("money")
    lock = model.taxonomy_.children("access")[0]
    row = int(model.data_.rows[int(np.flatnonzero(model.labels_ == third.id)[0])])
    file = written(
        run,
        {"do": "move", "rows": [row], "to": first.id},
        {"do": "rename", "category": third.id, "name": "  my  own "},
        {"do": "merge", "categories": [first.id, second.id]},
        {"do": "split", "category": lock.id, "into": 2},
    )
    assert main(["edit", str(run), file, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"move 1 text to {first.name!r}\nrename {third.name!r} to ")
    assert "access  (30 texts, 3 categories)" in said
    after = Discovery.load(run)
    assert [edit["do"] for edit in after.edits_] == ["move", "rename", "merge", "split"]
    assert {c.name for c in after.taxonomy_.children("money")} >= {"my own"}
    assert second.id not in after.taxonomy_.by_id()
    assert after.labels_[list(after.data_.rows).index(row)] == first.id
    assert '"edits":4' in (run / layout.REPORT).read_text("utf-8")
    for _ in range(4):
        assert main(["undo", str(run), "--quiet"]) == 0
    assert list(Discovery.load(run).taxonomy_) == list(model.taxonomy_)


def test_a_file_gives_the_same_result_as_single_commands(run: Path, saved: Path) -> None:
    model = Discovery.load(saved)
    a, b = model.taxonomy_.children("access")
    model.taxonomy_.rename(a.id, "locks")
    model.taxonomy_.merge(a.id, b.id)
    file = written(
        run, {"do": "rename", "category": a.id, "name": "locks"}, {"do": "merge", "categories": [a.id, b.id]}
    )
    assert main(["edit", str(run), file, "--quiet"]) == 0
    after = Discovery.load(run)
    assert list(after.taxonomy_) == list(model.taxonomy_)
    assert after.labels_.tolist() == model.labels_.tolist()


def test_a_wrong_text_goes_to_the_next_best_category_of_its_label(run: Path) -> None:
    model = Discovery.load(run)
    wrong = [int(np.flatnonzero(model.labels_ == c.id)[0]) for c in model.taxonomy_.children("money")]
    file = written(run, {"do": "wrong", "rows": [int(model.data_.rows[i]) for i in wrong]})
    assert main(["edit", str(run), file, "--quiet"]) == 0
    after = Discovery.load(run)
    ids = [c.id for c in model.taxonomy_]
    for i in wrong:
        similarity = model.features_[i] @ model.clusters_.centroids.T
        best = sorted(range(len(ids)), key=lambda k: -similarity[k])
        inside = [ids[k] for k in best if model.taxonomy_.by_id()[ids[k]].parent == "money"]
        assert after.labels_[i] == next(k for k in inside if k != model.labels_[i])
    others = np.setdiff1d(np.arange(len(TEXTS)), wrong)
    assert (after.labels_[others] == model.labels_[others]).all()


def test_if_one_correction_is_impossible_none_is_applied(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, before = Discovery.load(run), contents(run)
    money, post = model.taxonomy_.children("money")[0].id, model.taxonomy_.children("post")[0].id
    good = {"do": "rename", "category": money, "name": "fine"}
    bad: list[tuple[Any, str]] = [
        ({"do": "rename", "category": 99, "name": "x"}, "no category 99"),
        ({"do": "rename", "category": money, "name": " "}, "is empty"),
        ({"do": "merge", "categories": [money, post]}, "merge only categories of one label"),
        ({"do": "merge", "categories": [money]}, "at least two different categories"),
        ({"do": "split", "category": money, "into": 5000}, "different texts"),
        ({"do": "move", "rows": [10**6], "to": money}, "no text has row 1000000"),
        ({"do": "move", "rows": [10**30], "to": money}, "its 'rows' cannot be"),
        ({"do": "move", "rows": [True], "to": money}, "its 'rows' cannot be"),
        ({"do": "wrong", "rows": [int(model.data_.rows[LABELS.index("post")])]}, "'post' has only one"),
        ({"do": "rename", "category": "0", "name": "x"}, "its 'category' cannot be '0'"),
        ({"do": "recut", "categories": 2}, "the tree of this run has 3 to"),
        ({"do": "recut", "categories": 10**6}, "categories is 1000000"),
        ({"do": "recut", "categories": {"money": 0}}, "it must be a whole number of at least 1"),
        ({"do": "recut", "categories": {"mony": 2}}, "did you mean 'money'?"),
        ({"do": "recut", "categories": {}}, "it must be a whole number of at least 1"),
        ({"do": "recut", "categories": {"money": 2.0}}, "its 'categories' cannot be"),
        ({"do": "recut", "categories": {"money": [2]}}, "its 'categories' cannot be"),
        ({"do": "recut", "categories": True}, "its 'categories' cannot be 'True'"),
        ({"do": "recut", "categories": [2]}, "its 'categories' cannot be '[2]'"),
        ({"do": "recut", "categories": "6"}, "its 'categories' cannot be '6'"),
        ({"do": "merge", "categories": 3}, "its 'categories' cannot be '3'"),
        ({"do": "recut"}, "its 'categories' cannot be 'None'"),
        ({"do": "delete", "category": 0}, "'delete' is not a kind of correction"),
        ("merge", "None is not a kind of correction"),
        ({"do": ["merge"]}, "not a kind of correction"),
    ]
    for correction, why in bad:
        error = refused(capsys, ["edit", str(run), written(run, good, correction), "--quiet"])
        assert "correction 2 of" in error
        assert why in error
        assert contents(run) == before


def test_files_without_corrections_of_this_run_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, path = contents(run), run.parent / "corrections.json"

    def error(content: str) -> str:
        path.write_text(content, encoding="utf-8")
        return refused(capsys, ["edit", str(run), str(path), "--quiet"])

    assert "is not JSON" in error("{")
    assert "is not JSON" in error("[" * 100_000)
    for content in ("[]", "{}", '{"subtaxa corrections": 2, "run": "", "edits": 0, "corrections": []}'):
        assert "holds no corrections" in error(content)
    assert "of another run" in refused(capsys, ["edit", str(run), written(run, run="other"), "--quiet"])
    assert "had 3 edits, and now it has 0" in refused(capsys, ["edit", str(run), written(run, edits=3), "--quiet"])
    assert "there is no file" in refused(capsys, ["edit", str(run), str(run / "none.json"), "--quiet"])
    assert contents(run) == before


def test_a_file_is_not_applied_twice(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    category = Discovery.load(run).taxonomy_[0].id
    file = written(run, {"do": "split", "category": category, "into": 2})
    assert main(["edit", str(run), file, "--quiet"]) == 0
    assert "had 0 edits, and now it has 1" in refused(capsys, ["edit", str(run), file, "--quiet"])


@pytest.mark.parametrize("categories", [9, {"money": 5, "post": 2}])
def test_a_recut_gives_the_same_result_as_the_command(run: Path, saved: Path, categories: int | dict[str, int]) -> None:
    model = Discovery.load(saved)
    model.recut(categories)
    renamed = model.taxonomy_.children("access")[0].id
    model.taxonomy_.rename(renamed, "locks")
    file = written(
        run,
        {"do": "recut", "categories": categories},
        {"do": "rename", "category": renamed, "name": "locks"},
    )
    assert main(["edit", str(run), file, "--quiet"]) == 0
    after = Discovery.load(run)
    assert list(after.taxonomy_) == list(model.taxonomy_)
    assert after.labels_.tolist() == model.labels_.tolist()
    assert [edit["do"] for edit in after.edits_] == ["recut", "rename"]
    if isinstance(categories, dict):
        assert {label: len(after.taxonomy_.children(label)) for label in categories} == categories
    else:
        assert len(after.taxonomy_) == categories


def test_the_ids_of_a_later_recut_are_known(run: Path) -> None:
    """The report shows them before the recut: nodes that were categories keep their ids, in any order of edits."""
    model = Discovery.load(run)
    state = model._fitted_state()
    for number in (9, 4, 12, 6):
        known, upcoming = dict(state.current.ids), max(state.current.next_id, 1 + max(state.category_ids.tolist()))
        nodes = [(node,) for node in state.tree.tree.cut(number).tolist()]  # type: ignore[union-attr]
        new = iter(range(upcoming, upcoming + number))
        expected = {known[node] if node in known else next(new): node for node in nodes}
        model.recut(number)
        assert dict(state.current.groups) == expected


def test_a_run_without_a_tree_cannot_be_recut(run: Path) -> None:
    from subtaxa.errors import InputError
    from subtaxa.runs.load import load_run
    from subtaxa.taxonomy.corrections import correct

    state = load_run(run)
    state.tree = None
    file = Path(written(run, {"do": "recut", "categories": 7}))
    with pytest.raises(InputError, match="none was: this run has no tree of categories"):
        correct(state, file, reading.read_run(run)["data"]["fingerprint"])
    assert state.edits == []
