"""Damaged files of a finished run lead to one sentence, not to a traceback."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.errors import SubtaxaError
from subtaxa.runs.digests import digests

TEXTS, LABELS, _ = planted_corpus(10)


@pytest.fixture(scope="module")
def whole(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **{**quick, "epochs": 1}).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("damage") / "run")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def flip(path: Path, seed: int) -> None:
    """Change one bit in the last nine tenths of a file, where the numbers are."""
    content = bytearray(path.read_bytes())
    bit = random.Random(seed).randrange(8 * len(content) // 10, 8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "name", ["clusters.safetensors", "features.safetensors", "tree.safetensors", "tree.json", "model/model.safetensors"]
)
def test_a_flipped_bit_is_noticed(run: Path, capsys: pytest.CaptureFixture[str], name: str, seed: int) -> None:
    flip(run / name, seed)
    new = run.parent / "new.csv"
    new.write_text("text\nrefund owed\n")
    error = refused(capsys, ["assign", str(run), str(new), "--out", str(run.parent / "a.csv"), "--quiet"])
    assert f"{str(run / name)!r} is damaged (it has changed since it was written): run discover again" in error
    assert not (run.parent / "a.csv").exists()


@pytest.mark.parametrize("name", ["model/tokenizer.json", "model/config.json", "model/modules.json"])
def test_a_change_in_any_file_of_the_model_is_noticed(run: Path, name: str) -> None:
    (run / name).write_bytes((run / name).read_bytes() + b"\n")
    with pytest.raises(SubtaxaError, match="has changed since it was written"):
        Discovery.load(run).predict(["refund"])


@pytest.mark.parametrize(
    "name", ["clusters.safetensors", "features.safetensors", "tree.safetensors", "tree.json", "model/tokenizer.json"]
)
def test_a_missing_file_is_called_missing(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(SubtaxaError, match="is missing: the run folder is not complete"):
        Discovery.load(run).predict(["refund"])


def test_an_edited_and_updated_run_has_valid_digests(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from subtaxa.cli.main import main

    assert main(["rename", str(run), "0", "Mine", "--quiet"]) == 0
    more = run.parent / "more.csv"
    more.write_text("text\nrefund owed today\n")
    assert main(["update", str(run), str(more), "--quiet"]) == 0
    capsys.readouterr()
    model = Discovery.load(run)
    assert model.taxonomy_[0].name == "Mine"
    assert len(model.predict(["refund owed"])) == 1
    assert digests(run) == json.loads((run / "run.json").read_text())["files"]


def test_a_run_without_digests_still_loads(run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    del facts["files"]
    (run / "run.json").write_text(json.dumps(facts))
    assert len(Discovery.load(run).predict(["refund owed"])) == 1


def test_lone_surrogates_of_a_stranger_reach_no_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They were written by a stranger, or come from the name of a file that is not UTF-8."""
    from subtaxa.cli.main import main

    facts = json.loads((run / "run.json").read_text())
    facts |= {"preset": "\ud800", "command": "\udcff", "created": "\ud800"}
    facts["data"] |= {"source": "\udcff.csv", "fingerprint": "\ud800"}
    tree = json.loads((run / "tree.json").read_text())
    for node in tree["nodes"]:
        node |= {"name": "\ud800", "keywords": ["\ud800"], "examples": ["\ud800"]}
    (run / "tree.json").write_text(json.dumps(tree))
    facts["files"] = digests(run)
    (run / "run.json").write_text(json.dumps(facts))
    assert main(["rename", str(run), "0", "Mine", "--quiet"]) == 0
    assert main(["recut", str(run), "--categories", "7", "--quiet"]) == 0
    assert main(["info", str(run)]) == 0
    assert len(Discovery.load(run).taxonomy_) == 7


def test_a_number_that_no_float_can_hold_is_refused(run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    facts["history"][0]["loss"] = 10**400
    (run / "run.json").write_text(json.dumps(facts))
    with pytest.raises(SubtaxaError, match="is damaged"):
        Discovery.load(run)
