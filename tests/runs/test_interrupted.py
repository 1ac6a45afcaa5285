"""Runs that a process was changing when it was stopped, and runs that were replaced while somebody used them."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout
from subtaxa.runs.edit_session import EditSession
from subtaxa.runs.manifest import first_foreign, shows_log
from subtaxa.runs.reading import read_taxonomy
from subtaxa.taxonomy.edits import rename

sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
from kill_writes import campaign

TEXTS, LABELS, _ = planted_corpus(8)


@pytest.fixture(scope="module")
def whole(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **{**quick, "epochs": 1}).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def test_a_command_that_is_killed_loses_nothing(tiny_encoder: str, tmp_path: Path) -> None:
    rows = campaign(tmp_path, tiny_encoder, 13, random.Random(0))
    assert [line for *_, wrong in rows for line in wrong] == []
    assert len(rows) == 13


def test_tables_older_than_the_log_are_written_again_when_the_run_is_opened(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = EditSession(run)
    session.add(rename(session.working, 0, "Mine"))  # The process is killed before `finish`.
    assert not shows_log(run)
    assert "Mine" not in (run / layout.CATEGORIES).read_text()
    assert main(["info", str(run)]) == 0
    assert "Mine" in capsys.readouterr().out
    assert shows_log(run)
    assert "Mine" in (run / layout.CATEGORIES).read_text()
    assert "Mine" in (run / layout.REPORT).read_text()
    assert read_taxonomy(run).by_id()[0].name == "Mine"
    assert first_foreign(run) is None


def test_a_session_goes_on_although_the_history_holds_nan(run: Path) -> None:
    facts = (run / layout.RUN).read_text().replace('"epoch": 1', '"epoch": 1, "loss of nothing": NaN')
    assert "NaN" in facts
    (run / layout.RUN).write_text(facts)
    session = EditSession(run)
    session.add(rename(session.working, 0, "Mine"))
    assert session.finish().by_id()[0].name == "Mine"


def test_a_loaded_model_refuses_an_encoder_that_replaced_its_own(
    run: Path, quick: dict[str, object], tmp_path: Path
) -> None:
    model, kept = Discovery.load(run), Discovery.load(run)
    kept.predict(["refund owed"])
    other = Discovery(6, **{**quick, "epochs": 1}, seed=1).fit(TEXTS, LABELS)
    other.save(run, overwrite=True)
    with pytest.raises(InputError, match="was replaced by another run after it was loaded: load it again"):
        model.predict(["refund owed"])
    assert len(kept.predict(["refund owed"])) == 1  # Its encoder was already in memory.


@pytest.mark.parametrize("name", ["centroids", "features", "map", "confidences"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_run_with_values_that_are_not_finite_is_refused(run: Path, name: str, value: float) -> None:
    path = run / (layout.FEATURES if name == "features" else layout.CLUSTERS)
    arrays = {key: array.copy() for key, array in array_files.read_arrays(path).items()}
    arrays[name].flat[0] = value
    array_files.write_arrays(path, arrays)
    text = (run / layout.RUN).read_text().replace('"files"', '"no files"')  # As if the digests were right.
    (run / layout.RUN).write_text(text)
    with pytest.raises(InputError, match="holds NaN or infinity in"):
        Discovery.load(run)


@pytest.mark.parametrize("name", ["model", "categories.csv", "checkpoint"])
@pytest.mark.parametrize("option", ["--overwrite", "--resume"])
def test_files_that_were_never_a_runs_survive_discover(
    tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    out, source = tmp_path / "run", tmp_path / "texts.csv"
    source.write_text("text,label\n" + "\n".join(f"{t},{label}" for t, label in zip(TEXTS, LABELS, strict=True)))
    mine = out / name / "thesis.txt" if "." not in name else out / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    command = ["discover", str(source), "--out", str(out), "--encoder", tiny_encoder, option, "--quiet"]
    assert "is not subtaxa's" in refused(capsys, command)
    assert mine.read_text() == "mine"


def test_a_link_to_somebody_elses_folder_is_not_followed(
    tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, source, precious = tmp_path / "run", tmp_path / "texts.csv", tmp_path / "precious"
    source.write_text("text,label\n" + "\n".join(f"{t},{label}" for t, label in zip(TEXTS, LABELS, strict=True)))
    precious.mkdir()
    (precious / "identity.json").write_text("mine")
    for name in ("checkpoint", ".lock"):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        (out / name).symlink_to(precious if name == "checkpoint" else precious / "identity.json")
        for option in ("--overwrite", "--resume"):
            refused(capsys, ["discover", str(source), "--out", str(out), "--encoder", tiny_encoder, option, "--quiet"])
    assert [path.read_text() for path in precious.iterdir()] == ["mine"]
