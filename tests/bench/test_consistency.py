"""Runs of different code, data or budgets do not stand in one table unless that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.bench_records import line_of, made_up
from helpers.commands import refused

from subtaxa.bench.consistency import consistent, differs
from subtaxa.bench.paper.tables import write_table
from subtaxa.bench.records import Record
from subtaxa.cli.main import main
from subtaxa.errors import SubtaxaError

COMMON = {"subtaxa.training.trainer": "1"}


def test_a_changed_method_does_not_disturb_other_rows(tmp_path: Path) -> None:
    runs = [
        made_up(tmp_path, "hwu64", "bert", code=COMMON),
        made_up(tmp_path, "hwu64", "dna", code=COMMON | {"subtaxa.methods.dna": "1"}),
        made_up(tmp_path, "hwu64", "wscl", code=COMMON | {"subtaxa.methods.wscl": "7"}),
    ]
    assert consistent(runs) == runs
    other = made_up(tmp_path, "clinc", "dna", code=COMMON | {"subtaxa.methods.dna": "2"})
    with pytest.raises(
        SubtaxaError, match=r"differs from other runs of the table in the code of subtaxa\.methods\.dna"
    ):
        consistent([*runs, other])


def test_the_run_that_differs_from_most_is_named_and_marked(tmp_path: Path) -> None:
    runs = [made_up(tmp_path, "hwu64", name, code=COMMON) for name in ("bert", "dna")]
    odd = made_up(tmp_path, "hwu64", "wscl", code={"subtaxa.training.trainer": "2"}, created="2026-02-01")
    with pytest.raises(SubtaxaError, match=r"wscl.*training\.trainer.*--mix-digests"):
        consistent([odd, *runs])
    found = consistent([odd, *runs], mix=True)
    assert [differs([run]) for run in found] == [True, False, False]
    newer = consistent([odd, runs[0]], mix=True)  # Two versions, one run each: the newer one is the rule.
    assert [differs([run]) for run in newer] == [False, True]


def test_other_data_of_the_same_name_differs(tmp_path: Path) -> None:
    runs = [made_up(tmp_path, "hwu64", name) for name in ("bert", "dna", "down")]
    prints = "aab"
    runs = [
        Record({**run.content, "data": {**run.data, "fingerprint": mark}}, run.folder)
        for run, mark in zip(runs, prints, strict=True)
    ]
    with pytest.raises(SubtaxaError, match=r"down.*the data hwu64"):
        consistent(runs)


def test_budgets_must_mean_the_same(tmp_path: Path) -> None:
    runs = [made_up(tmp_path, "hwu64", name, budget="short") for name in ("bert", "dna")]
    more = made_up(tmp_path, "hwu64", "dna", budget="short", changes={"epochs": 9})  # A sweep says what it changes.
    assert len(consistent([*runs, more])) == 3
    longer = Record({**runs[1].content, "settings": {**runs[1].settings, "epochs": 8}}, runs[1].folder)
    with pytest.raises(SubtaxaError, match="the setting epochs of budget short on hwu64"):
        consistent([runs[0], made_up(tmp_path, "hwu64", "wscl", budget="short"), longer])


def test_rows_that_differ_are_marked_in_the_table(tmp_path: Path) -> None:
    runs = [made_up(tmp_path / "runs", "hwu64", name, 60.0) for name in ("bert", "down")]
    old = made_up(tmp_path / "runs", "hwu64", "dna", 70.0, code={})
    text = write_table("2", consistent([*runs, old], mix=True), tmp_path)
    assert line_of(text, "DNA §")[2] == "**70.00**"
    assert line_of(text, "DOWN")[2] == "60.00"
    assert "§ made by other code" in text
    assert "§" not in write_table("2", consistent(runs, mix=True), tmp_path)


def test_the_command_leaves_out_old_runs_and_refuses_mixtures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "runs"
    call = ["bench", "table", "2", "--runs", str(root), "--out", str(tmp_path / "out")]
    made_up(root, "hwu64", "dna", code={})
    assert "show runs of 0.1 with --mix-digests" in refused(capsys, call)
    made_up(root, "hwu64", "down")
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert "| DOWN " in shown
    assert "| DNA" not in shown
    made_up(root, "hwu64", "star", code={"subtaxa.training.trainer": "2"})
    assert "--mix-digests" in refused(capsys, call)
    assert main([*call, "--mix-digests"]) == 0
    assert "| DNA § " in capsys.readouterr().out
