"""`subtaxa bench run`: what a run writes, that it is never repeated, and how an interrupted run is resumed."""

from __future__ import annotations

import csv
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import forks
from helpers.bench_records import made_up
from helpers.commands import refused
from helpers.corpus import planted_corpus
from helpers.planted import blobs

from subtaxa.bench import records, running
from subtaxa.bench.baselines import BASELINES
from subtaxa.bench.code_digest import code_of
from subtaxa.bench.datasets import Dataset, Part
from subtaxa.bench.paper import plan
from subtaxa.bench.records import Job
from subtaxa.cli.main import main
from subtaxa.methods import soft_dna_without, variants
from subtaxa.settings import NAMES, epochs_for

TEXTS, COARSE, FINE = planted_corpus(15)
# Epochs of the runs that are interrupted.
EPOCHS = 6


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "planted.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "coarse", "fine"), *zip(TEXTS, COARSE, FINE, strict=True)])
    return path


@pytest.fixture(scope="module")
def own(source: Path) -> list[str]:
    return ["--dataset", str(source), "--label", "coarse", "--fine", "fine"]


@pytest.fixture(scope="module")
def quick(tiny_encoder: str) -> list[str]:
    flags = "--epochs 2 --batch-size 32 --learning-rate 1e-3 --trained-layers 2 --neighbours 10 --quiet"
    return ["--encoder", tiny_encoder, *flags.split()]


def bench(runs: Path, *arguments: str) -> int:
    return main(["bench", "run", "--runs", str(runs), *arguments])


def by_method(runs: Path) -> dict[tuple[str, int], Any]:
    return {(r.method, r.seed): r for r in records.read_all(runs)}


@pytest.fixture(scope="module")
def finished(own: list[str], quick: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of DNA."""
    runs = tmp_path_factory.mktemp("finished")
    assert bench(runs, *own, "--method", "dna", *quick) == 0
    return runs


def test_the_record_is_complete(finished: Path, tiny_encoder: str) -> None:
    record = by_method(finished)["dna", 0]
    assert (record.dataset, record.method, record.preset, record.seed, record.limit) == (
        *("planted.csv", "dna", "default"),
        *(0, None),
    )
    assert record.settings.keys() == {*NAMES, "restarts"}
    assert record.settings["encoder"] == tiny_encoder
    assert (record.settings["method"], record.settings["epochs"], record.settings["temperature"]) == ("dna", 2, 0.07)
    assert record.changes["neighbours"] == 10
    assert (record.data["train"], record.data["test"]) == (72, 18)
    assert (record.data["coarse"], record.data["fine"]) == (3, 6)
    assert record.data["skipped"] == {"train": 0, "test": 0}
    libraries = {"torch", "numpy", "scipy", "scikit-learn", "sentence-transformers", "transformers"}
    assert {"subtaxa", "python", *libraries} <= record.machine["versions"].keys()
    assert record.machine["cores"] >= 1
    assert record.machine["threads"] >= 1
    assert len(record.data["fingerprint"]) == 64
    assert record.content["code"] == code_of("dna")
    assert record.budget is None
    assert record.seconds["whole"] >= record.seconds["training"] >= 0
    assert record.seconds["per_epoch"] >= 0
    assert record.seconds["resumed"] is False
    assert record.peak_memory_mb is None or record.peak_memory_mb > 50
    assert record.created
    assert record.command.startswith("subtaxa")
    for protocol in ("paper", "centroid", "discover"):
        assert set(record.scores[protocol]) == {"acc", "ari", "nmi"}
        assert record.score(protocol, "acc") > 30


def test_the_history_has_a_row_per_epoch_and_one_before(finished: Path) -> None:
    before, *epochs = by_method(finished)["dna", 0].history
    assert set(before) == {"epoch", "acc", "ari", "nmi"}
    assert [before["epoch"], *(row["epoch"] for row in epochs)] == [0, 1, 2]
    for row in epochs:
        assert {"acc", "ari", "nmi", "seconds", "alignment", "uniformity", "coarse", "kept"} <= row.keys()
        stages = [
            "knn",
            "label",
            "reciprocal",
            *(["rank"] if row["epoch"] == 1 else []),
        ]
        assert [key.removeprefix("accuracy_") for key in row if key.startswith("accuracy_")] == stages
        counts = [row[f"count_{stage}"] for stage in stages]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == 9  # k is 10, and the text itself does not count.
        assert all(0 <= row[f"accuracy_{stage}"] <= 1 for stage in stages if row[f"count_{stage}"])
    assert by_method(finished)["dna", 0].history[1]["accuracy_knn"] < 1


def test_a_run_folder_has_neither_texts_nor_weights(finished: Path) -> None:
    files = {path.name: path for path in finished.rglob("*") if path.is_file()}
    assert set(files) == {"record.json", "map.csv"}
    for path in files.values():
        content = path.read_text("utf-8")
        assert not any(text in content for text in TEXTS)
    with files["map.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["x", "y", "coarse", "fine"]
    assert len(rows) == 18
    assert {(row["coarse"], row["fine"]) for row in rows} == set(zip(COARSE, FINE, strict=True))
    assert all(math.isfinite(float(row["x"]) + float(row["y"])) for row in rows)


def test_a_finished_run_is_not_repeated(
    finished: Path, own: list[str], quick: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in finished.rglob("*") if path.is_file()}
    assert bench(finished, *own, "--method", "dna", *quick) == 0
    shown = capsys.readouterr().out
    assert "paper" in shown
    assert "all 1 runs are finished" in shown
    assert bench(finished, *own, "--method", "dna", *quick, "--only-missing") == 0
    assert capsys.readouterr().out.startswith("all 1 runs are finished")
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in finished.rglob("*") if path.is_file()}
    assert after == before


def test_a_second_run_gives_the_same_result(finished: Path, own: list[str], quick: list[str], tmp_path: Path) -> None:
    assert bench(tmp_path, *own, "--method", "dna", *quick) == 0
    assert comparable(tmp_path, "dna") == comparable(finished, "dna")


def test_several_methods_and_seeds_and_only_the_missing(
    own: list[str], quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tmp_path, *own, "--method", "kmeans", "nncl", *quick, "--seeds", "0") == 0
    assert bench(tmp_path, *own, "--method", "kmeans", "nncl", "hdbscan", *quick, "--seeds", "0", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [
        "kmeans",
        "nncl",
        "kmeans",
        "kmeans",
        "nncl",
        "nncl",
        *["hdbscan"] * 2,
    ]
    assert bench(tmp_path, *own, "--method", "kmeans", *quick, "--seeds", "1", "2", "--only-missing") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "seed 2" in line
    found = by_method(tmp_path)
    assert set(found) == {(m, s) for m in ("kmeans", "nncl", "hdbscan") for s in (0, 1)} | {("kmeans", 2)}
    first, second = (found["nncl", seed].history[1]["contrastive"] for seed in (0, 1))
    assert first != second
    assert found["kmeans", 0].history == []
    assert found["kmeans", 0].settings["method"] == "kmeans"
    assert not (found["kmeans", 0].folder / "map.csv").exists()


def test_the_paper_preset_pretrains_and_limit_is_respected(own: list[str], quick: list[str], tmp_path: Path) -> None:
    more = ["--preset", "paper", "--pretrain-epochs", "2", "--limit", "40", "--epochs", "1"]
    assert bench(tmp_path, *own, "--method", "dna", *quick, *more) == 0
    record = by_method(tmp_path)["dna", 0]
    assert (record.preset, record.limit, record.data["train"], record.data["test"]) == ("paper", 40, 40, 18)
    assert record.settings["augment"] == "replace"
    assert [row.get("pretraining") for row in record.history] == [None, 1, 1, None]


def test_user_errors_are_one_sentence_and_write_nothing(
    source: Path, own: list[str], quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, file = tmp_path / "runs", str(source)
    (tmp_path / "clinc.csv").write_text("text,coarse,fine\n")
    dna = ["--method", "dna"]
    cases = {
        "unknown method 'dan'": [*own, "--method", "dan"],
        "kmeans-per-label": [*own, "--method", "dan"],  # The baselines are listed as well.
        "'hwu65' is neither a file nor one of clinc": ["--dataset", "hwu65", *dna],
        "'deep/clinc' is neither a file": ["--dataset", "deep/clinc", "--data", str(tmp_path), *dna],
        "clinc.csv has no rows": [
            "--dataset",
            str(tmp_path / "clinc.csv"),
            "--label",
            "coarse",
            "--fine",
            "fine",
            *dna,
        ],
        "hwu64 needs --data": ["--dataset", "hwu64", *dna],
        "hwu64/train.tsv": ["--dataset", "hwu64", "--data", str(tmp_path), *dna],
        "--label COLUMN --fine COLUMN": ["--dataset", file, "--label", "coarse", *dna],
        "no column 'fein'": ["--dataset", file, "--label", "coarse", "--fine", "fein", *dna],
        "--seeds is '-1'": [*own, *dna, "--seeds", "-1"],
        "--seeds is 'x'": [*own, *dna, "--seeds", "0", "x"],
        "--seeds is '4294967296'": [*own, *dna, "--seeds", "4294967296"],
        "--limit is '0'": [*own, *dna, "--limit", "0"],
        "--limit is 'all'": [*own, *dna, "--limit", "all"],
        "epochs is 'many'": [*own, *dna, "--epochs", "many"],
        "unknown preset 'fast'": [*own, *dna, "--preset", "fast"],
        "unknown budget 'small': use short or full": [*own, *dna, "--budget", "small"],
        "leave out --preset or --budget": [*own, *dna, "--budget", "short", "--preset", "paper"],
        "--all needs a budget": ["--all", "--data", str(tmp_path)],
        "is chosen on HWU64: give --data": [*own, *dna, "--budget", "short"],
        "leave out --dataset": ["--all", "--method", "dna"],
        "--method and --seeds": ["--all", "--seeds", "1", "2"],
        "nothing to run": dna,
        "--method: expected at least one": [*own, "--method"],
    }
    for fragment, arguments in cases.items():
        assert fragment in refused(capsys, ["bench", "run", "--runs", str(runs), *arguments])
        assert not runs.exists(), fragment
    assert "COMMAND" in refused(capsys, ["bench"])
    assert "no finished run" in refused(capsys, ["bench", "table", "1", "--runs", str(runs)])


def test_other_data_of_the_same_name_is_refused(
    finished: Path, own: list[str], quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "planted.csv"
    rows = zip(TEXTS, COARSE, [f"{fine}s" for fine in FINE], strict=True)
    with other.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "coarse", "fine"), *rows])
    call = ["--dataset", str(other), "--label", "coarse", "--fine", "fine", "--method", "dna", *quick]
    error = refused(capsys, ["bench", "run", "--runs", str(finished), *call])
    assert "other data of the same name" in error


def test_a_damaged_record_is_named(own: list[str], quick: list[str], tmp_path: Path, capsys: Any) -> None:
    call = [*own, "--method", "kmeans", *quick]
    assert bench(tmp_path, *call) == 0
    (path,) = tmp_path.rglob("record.json")
    for content in ("{", "[]", '{"format": 99, "scores": {}}'):
        path.write_text(content)
        error = refused(capsys, ["bench", "run", "--runs", str(tmp_path), *call])
        assert str(path) in error
        assert "delete it and run the job again" in error


def test_all_continues_when_one_baseline_cannot_run(
    quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / "hwu64"
    folder.mkdir(parents=True)
    rows = [f"{text}\t{coarse}_{fine}\n" for text, coarse, fine in zip(TEXTS, COARSE, FINE, strict=True)]
    (folder / "train.tsv").write_text("text\tlabel\n" + "".join(rows[:70]) + "ragged\n")
    (folder / "test.tsv").write_text("text\tlabel\n" + "".join(rows[70:]))

    def few(budget: str, preset: str, limit: int | None, changes: dict[str, Any]) -> list[Job]:
        methods = ("bertopic-per-label", "kmeans", "hdbscan")
        return [Job("hwu64", name, preset, 0, limit, changes, budget) for name in methods]

    monkeypatch.setattr(plan, "everything", few)
    monkeypatch.setitem(sys.modules, "bertopic", None)
    loud = [flag for flag in quick if flag != "--quiet"]
    budget = ["--budget", "full", "--skip", "hdbscan"]
    assert bench(tmp_path / "runs", "--all", *budget, "--data", str(tmp_path / "data"), *loud) == 0
    printed = capsys.readouterr()
    first, second = printed.out.splitlines()
    assert "skipped, the baseline bertopic-per-label needs BERTopic" in first
    assert second.startswith("hwu64 kmeans")
    assert "hwu64 training: skipped 1 row: ragged row (row 71)" in printed.err
    assert "hwu64: 70 training texts, published 8,954" in printed.err
    assert "run 2 of 2: hwu64 kmeans" in printed.err
    assert list(by_method(tmp_path / "runs")) == [("kmeans", 0)]


@pytest.mark.parametrize("budget", ["short", "full", None])
def test_everything_names_methods_that_exist_once_each(budget: str | None) -> None:
    every = list(plan.everything(budget, "default", None, {"temperature": 0.1}))
    assert {job.method for job in every} <= variants().keys() | BASELINES.keys()
    assert len({job.folder(Path()) for job in every}) == len(every)
    assert all(job.changes["temperature"] == 0.1 for job in every)
    assert all(job.budget == budget for job in every)


def test_the_short_budget_has_every_row_on_every_data_set_and_cheap_rows_come_first() -> None:
    assert len(plan.TABLE2) == 16
    assert len(plan.TABLE3) == 6
    every = list(plan.everything("short", "default", None, {}))
    on = {name: {job.method for job in every if job.dataset == name} for name in plan.DATASETS}
    rows = {*plan.TABLE2.values(), *plan.LATER.values(), *plan.BASELINE_ROWS.values()}
    assert on["wos-part"] == rows
    assert on["clinc"] == on["clinc-lt"] == rows - {"kmeans-lexical"}
    assert on["hwu64"] == (rows - {"kmeans-lexical"}) | {*plan.TABLE3.values()}
    # Two pretrainings, the method of the preset quick, and the ablation of the default method.
    apart = {"bert+ce+mlm", "bert+ce-as-released", "head-only", *soft_dna_without.VARIANTS}
    assert on["hwu64"] - BASELINES.keys() == variants().keys() - apart
    cheap = [job.method in plan.CHEAP for job in every]
    assert cheap == sorted(cheap, reverse=True)
    first = [job.dataset for job in every if job.method not in plan.CHEAP]
    assert first[: len(plan.TRAINED)] == ["hwu64"] * len(plan.TRAINED)
    sweeps = {(job.dataset, job.method, *job.changes.items()) for job in every if job.changes}
    assert ("clinc", "dna", ("neighbours", 500)) in sweeps
    assert ("clinc", "dna", ("rank_top_m", 20)) in sweeps


def test_the_full_budget_has_three_seeds() -> None:
    every = list(plan.everything("full", "default", None, {}))
    assert {job.method for job in every} == set(plan.FULL)
    assert [job.seed for job in every if (job.dataset, job.method) == ("clinc", "star")] == [0, 1, 2]


def test_close_rows_get_more_seeds(tmp_path: Path) -> None:
    for method, acc in {"bert": 60.0, "dna": 70.0, "down": 71.9, "star": 74.0}.items():
        made_up(tmp_path, "hwu64", method, acc, budget="short")
    made_up(tmp_path, "hwu64", "wscl", 60.5)  # of no budget
    made_up(tmp_path, "clinc", "wscl", 60.5, budget="short")  # of another data set
    found = plan.closer_look(records.read_all(tmp_path), "short")
    assert [(job.method, job.seed) for job in found] == [("dna", 1), ("dna", 2), ("down", 1), ("down", 2)]
    assert {(job.dataset, job.variant) for job in found} == {("hwu64", "short")}


def test_a_budget_is_the_same_for_all_methods() -> None:
    texts = ("play some music",) * 20
    data = Dataset("hwu64", Part(texts, ("a",) * 20, ("b",) * 20), Part((), (), ()), (), {"neighbours": 120})
    found = {
        name: running.settings_of(Job("hwu64", name, budget="short"), data, 2e-4).to_dict()
        for name in ("kmeans", "bert", "wscl", "simcse", "dna", "down", "star", "clnn", "soft-dna")
    }
    for name in ("encoder", "pooling", "max_tokens", "trained_layers", "epochs", "batch_size", "pretrain_epochs"):
        assert len({str(settings[name]) for settings in found.values()}) == 1, name
    assert {settings["learning_rate"] for settings in found.values()} == {2e-4}
    assert {name: found[name]["augment"] for name in ("dna", "clnn", "wscl", "soft-dna")} == {
        "dna": "drop",
        "clnn": "drop",
        "wscl": "none",
        "soft-dna": "shorten",
    }
    assert found["clnn"]["temperature"] == 0.07
    assert found["simcse"]["temperature"] == 0.05
    own = Job("hwu64", "dna", budget="short", changes={"epochs": 9, "learning_rate": 1e-3})
    changed = running.settings_of(own, data, 2e-4)
    assert (changed.epochs, changed.learning_rate) == (9, 1e-3)
    full = running.settings_of(Job("hwu64", "dna", budget="full"), data)
    assert (full.trained_layers, full.epochs) == ("layers", epochs_for(20))


def test_only_renew_repeats_a_run_of_other_code(
    own: list[str], quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [*own, "--method", "kmeans", *quick]
    assert bench(tmp_path, *call) == 0
    (path,) = tmp_path.rglob("record.json")
    old = json.loads(path.read_text())
    old["code"]["files"]["subtaxa.bench.scoring"] = "0"
    path.write_text(json.dumps(old))
    assert bench(tmp_path, *call) == 0
    assert json.loads(path.read_text()) == old
    assert bench(tmp_path, *call, "--renew") == 0
    assert json.loads(path.read_text())["code"] == code_of("kmeans")
    capsys.readouterr()
    assert bench(tmp_path, *call, "--renew") == 0
    assert "all 1 runs are finished" in capsys.readouterr().out


def test_folder_names_show_the_changes_and_are_distinct() -> None:
    assert Job("d", "m").variant == "default"
    assert Job("d", "m", budget="short", changes={"neighbours": 5}).variant == "short_neighbours=5"
    assert (
        Job("d", "m", "paper", limit=9, changes={"neighbours": 5, "epochs": 4}).variant
        == "paper_epochs=4_neighbours=5_limit=9"
    )
    assert Job("d", "m", changes={"a": 1, "b": 2}).variant == Job("d", "m", changes={"b": 2, "a": 1}).variant
    paths = [Job("d", "m", changes={"encoder": name}).variant for name in ("/a/b", "/a/c", "../b")]
    assert len(set(paths)) == 3
    assert all(name.startswith("default_") and "/" not in name and ".." not in name for name in paths)
    assert Job("d", "m", "default", 3).folder(Path("r")) == Path("r/d/m/default/seed-3")


def test_a_checkpoint_of_other_data_is_discarded(tmp_path: Path) -> None:
    folder, first = tmp_path / "checkpoint", {"data": "x", "settings": {"epochs": 2}}
    assert records.open_checkpoint(folder, first) is False
    (folder / "training.safetensors").write_bytes(b"weights")
    assert records.open_checkpoint(folder, first) is True
    assert (folder / "training.safetensors").exists()
    assert records.open_checkpoint(folder, first | {"data": "y"}) is False
    assert not (folder / "training.safetensors").exists()


def test_the_map_is_safe_to_open_in_a_spreadsheet() -> None:
    data = blobs([[6, 6]])
    fine = tuple("=1+1" if i else "plain" for i in data.truth)
    part = Part(("",) * 12, ("@x",) * 12, fine)
    rows = list(csv.reader(running._map(data.features, Dataset("d", part, part), 0).splitlines()))
    assert {tuple(row[2:]) for row in rows[1:]} == {("'@x", "'=1+1"), ("'@x", "plain")}
    few = running._map(data.features[:2], Dataset("d", part, Part(("",) * 2, ("x",) * 2, ("y",) * 2)), 0)
    assert len(few.splitlines()) == 3


def test_nan_becomes_null() -> None:
    assert running._round(float("nan")) is None
    assert running._round(np.float64(1 / 3)) == 0.33333


HOLD = """
import sys, time
from pathlib import Path
from subtaxa.runtime.folder_lock import try_exclusive
with try_exclusive(Path(sys.argv[1])) as is_ours:
    print(is_ours, flush=True)
    time.sleep(600)
"""


def test_a_run_locked_by_another_process_is_skipped_until_it_ends(
    own: list[str], quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tmp_path / "elsewhere", *own, "--method", "kmeans", *quick) == 0
    folder = next((tmp_path / "elsewhere").rglob("seed-0")).relative_to(tmp_path / "elsewhere")
    runs = tmp_path / "runs"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(runs / folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "True"
        capsys.readouterr()
        assert bench(runs, *own, "--method", "kmeans", *quick, "--seeds", "0", "1") == 0
        first, second = capsys.readouterr().out.splitlines()
        assert first.endswith("skipped, another process is running it")
        assert "paper" in second
        assert list(by_method(runs)) == [("kmeans", 1)]
    finally:
        holder.kill()  # After SIGKILL it cannot clean up.
        holder.communicate(timeout=60)
    assert bench(runs, *own, "--method", "kmeans", *quick) == 0
    assert list(by_method(runs)) == [("kmeans", 0), ("kmeans", 1)]


def comparable(runs: Path, method: str) -> dict[str, Any]:
    """The parts of a run that must not differ between two runs of the same command."""
    record = by_method(runs)[method, 0]
    history = [{key: value for key, value in row.items() if "seconds" not in key} for row in record.history]
    points = (record.folder / "map.csv").read_text()
    return {
        "scores": record.scores,
        "history": history,
        "data": record.data,
        "settings": record.settings,
        "map": points,
    }


@pytest.fixture(scope="module")
def slow(own: list[str], quick: list[str]) -> list[str]:
    """A run of several seconds, to be interrupted."""
    changed = f"--method dna --epochs {EPOCHS} --batch-size 16 --trained-layers all --pretrain-epochs 1"
    return [*own, *quick, *changed.split()]


@pytest.fixture(scope="module")
def uninterrupted(slow: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    runs = tmp_path_factory.mktemp("whole")
    assert bench(runs, *slow) == 0
    return comparable(runs, "dna")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_continues_to_the_same_result(
    slow: list[str], uninterrupted: dict[str, Any], tmp_path: Path, number: signal.Signals
) -> None:
    process = forks.Fork(forks.command, "bench", "run", "--runs", str(tmp_path), *slow)
    while not any(tmp_path.rglob("training.safetensors")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    time.sleep(0.15)
    process.send_signal(number)
    _, error = process.communicate()
    assert by_method(tmp_path) == {}
    if number == signal.SIGINT:
        assert process.returncode == 128 + number
        assert error == "subtaxa: stopped (run the same command again to continue)\n"
    else:
        assert process.returncode == -number
    assert bench(tmp_path, *slow) == 0
    assert comparable(tmp_path, "dna") == uninterrupted
    assert len(uninterrupted["history"]) == 1 + 1 + EPOCHS
    record = by_method(tmp_path)["dna", 0]
    assert record.seconds["resumed"] is True
    assert {path.name for path in record.folder.iterdir()} == {"record.json", "map.csv"}


def test_help_does_not_import_torch() -> None:
    for arguments in (["bench", "--help"], ["bench", "run", "--help"]):
        code = f"import sys; from subtaxa.cli.main import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
        code += "heavy = {'torch', 'pandas', 'sklearn', 'numpy', 'rich'} & set(sys.modules)\n"
        code += "sys.exit(f'{heavy}' if heavy else 0)"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert shown.returncode == 0, shown.stderr
        assert "run" in shown.stdout
    assert "--only-missing" in shown.stdout
