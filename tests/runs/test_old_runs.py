"""A run folder that 0.1.0 wrote (format 3) still loads, can be edited, and can be saved again.

`run_0_1_0` is such a folder, without its report: 24 texts, a tiny encoder, and a log of five edits.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery

OLD = Path(__file__).parent / "run_0_1_0"
# The results that 0.1.0 saved with this run.
LABELS = [5, 0, 3, 3, 3, 5, 3, 0, 3, 2, 2, 3, 0, 3, 0, 1, 1, 3, 2, 1, 1, 6, 2, 6]
NAMES = {
    0: "Renamed by hand",
    1: "blocked suspended unlock",
    2: "credit, owed, reimburse",
    3: "charged, receipt, vat document pdf",
    5: "late lost package",
    6: "delivered late parcel",
}
CONFIDENCES = {0: 0.797642725, 5: 0.870656222, 21: 0.761040932, 23: 0.881988236}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "run"))


def test_the_run_has_the_format_and_the_names_of_0_1_0() -> None:
    facts = json.loads((OLD / "run.json").read_text("utf-8"))
    assert (facts["format"], facts["subtaxa"]) == (3, "0.1.0")
    assert {"clip", "view", "view_rate", "view_tokens", "rank_dimensions"} <= facts["settings"].keys()


def test_the_run_loads_as_it_was_saved(run: Path) -> None:
    model = Discovery.load(run)
    assert model.labels_.tolist() == LABELS
    assert {category.id: category.name for category in model.taxonomy_} == NAMES
    for i, confidence in CONFIDENCES.items():
        assert model.confidences_[i] == pytest.approx(confidence, abs=1e-6)
    assert model.settings_.max_grad_norm == 0.5
    assert [edit["do"] for edit in model.edits_] == ["rename", "merge", "undo", "merge", "split"]
    assert model.predict(model.data_.texts).tolist() == LABELS
    np.testing.assert_allclose(model.transform(model.data_.texts), model.features_, atol=1e-5)


def test_the_run_can_be_edited_and_saved(run: Path, tmp_path: Path) -> None:
    main(["undo", str(run), "--quiet"])
    assert set(Discovery.load(run).classes_) == {0, 1, 2, 3, 5}
    main(["info", str(run)])
    model = Discovery.load(run)
    again = Discovery.load(model.save(tmp_path / "new"))
    assert again.labels_.tolist() == model.labels_.tolist()
    assert "max_grad_norm" in json.loads((tmp_path / "new" / "run.json").read_text("utf-8"))["settings"]
