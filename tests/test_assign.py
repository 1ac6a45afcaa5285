"""Assigning the texts of a file: files of any size and columns, where each text is read and cleaned once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.assign import assign_file
from subtaxa.data import readers
from subtaxa.data.tables import ASSIGNMENT_COLUMNS
from subtaxa.data.texts import read_texts
from subtaxa.data.values import clean
from subtaxa.errors import InputError
from subtaxa.runtime.progress import Progress, Step
from subtaxa.taxonomy import text_reader

TEXTS, LABELS, _ = planted_corpus(per_topic=20, seed=1)


@pytest.fixture(scope="module")
def run(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("assigning") / "run")  # type: ignore[arg-type]


class RecordingProgress(Progress):
    """Records every step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def _open(self, name: str, total: int) -> Step:
        self.steps.append(super()._open(name, total))
        return self.steps[-1]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_chunks_give_the_same_file_in_one_step(
    run: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"text": [f"{text}\nplease" for text in TEXTS], "n": range(len(TEXTS))})
    source = tmp_path / f"new.{kind}"
    if kind == "csv":
        frame.to_csv(source, index=False)
    elif kind == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    else:
        frame.to_parquet(source)
    written = []
    for rows in (10_000, 7):
        monkeypatch.setattr("subtaxa.assign.CHUNK_ROWS", rows)
        target, progress = tmp_path / f"{rows}.csv", RecordingProgress()
        count = assign_file(run, source, target, progress=progress)
        steps = [step for step in progress.steps if step.name == "Assigning the texts"]
        assert [(step.total, step.done) for step in steps] == [(count, count)]
        assert count == len(TEXTS)
        written.append(pd.read_csv(target))
    pd.testing.assert_frame_equal(*written, atol=2e-4)


def test_columns_of_the_user_are_never_replaced(run: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "new.tsv", tmp_path / "out.tsv"
    mine = {"text": ["one\ttwo", "a\rb"], "category": ["x", "=1"], "subtaxa_category": ["y", 'say "hi"']}
    pd.DataFrame(mine).to_csv(source, sep="\t", index=False, lineterminator="\r\n")
    assert assign_file(run, source, target) == 2
    found = pd.read_csv(target, sep="\t", dtype=str)
    assert found["category"].tolist() == ["x", "'=1"]
    assert found["subtaxa_category"].tolist() == mine["subtaxa_category"]
    assert found["text"].tolist() == mine["text"]
    assert found["subtaxa_category_2"].notna().all()
    assert list(read_texts(target, "text", "subtaxa_category_label_2").texts) == mine["text"]


def test_a_column_may_be_missing_in_the_first_chunk(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subtaxa.assign.CHUNK_ROWS", 2)
    source, target = tmp_path / "new.parquet", tmp_path / "out.parquet"
    pd.DataFrame({"text": TEXTS[:4], "n": pd.array([None, None, 3, 4], dtype="Int64")}).to_parquet(source)
    assert assign_file(run, source, target) == 4
    table = pq.read_table(target)
    assert table.column("n").to_pylist() == [None, None, 3, 4]
    assert {name: str(table.schema.field(name).type) for name in ASSIGNMENT_COLUMNS} == ASSIGNMENT_COLUMNS


@pytest.mark.parametrize(("kind", "times"), [("jsonl", 2), ("csv", 3)])
def test_a_file_is_read_once_for_its_columns_or_rows_and_once_for_its_texts(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, times: int
) -> None:
    """CSV is opened once more, because counting the rows needs a separate pass."""
    source = tmp_path / f"new.{kind}"
    frame = pd.DataFrame({"text": TEXTS[:5]})
    frame.to_json(source, orient="records", lines=True) if kind == "jsonl" else frame.to_csv(source, index=False)
    opened, open_text = [], readers.open_text
    monkeypatch.setattr(readers, "open_text", lambda path: opened.append(path) or open_text(path))
    assert assign_file(run, source, tmp_path / "out.csv") == 5
    assert len(opened) == times


def test_texts_are_cleaned_once(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, seen = tmp_path / "new.csv", []
    pd.DataFrame({"text": TEXTS[:5]}).to_csv(source, index=False)
    for module in (readers, text_reader):
        monkeypatch.setattr(module, "clean", lambda text: seen.append(text) or clean(text))
    assert assign_file(run, source, tmp_path / "out.csv") == 5
    assert seen == TEXTS[:5]
    seen.clear()
    Discovery.load(run).predict(TEXTS[:3])
    assert seen == TEXTS[:3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "txet"}, "there is no column 'txet' in {}, only 'text', 'team'; did you mean 'text'?"),
        ({"label": "Teem"}, "there is no column 'Teem' in {}, only 'text', 'team'; did you mean 'team'?"),
    ],
)
def test_a_misspelt_column_is_refused_before_the_run_is_loaded(
    tmp_path: Path, given: dict[str, str], message: str
) -> None:
    source = tmp_path / "new.csv"
    source.write_text("text,team\nx,a\n")
    with pytest.raises(InputError) as caught:
        assign_file(tmp_path / "no run", source, tmp_path / "out.csv", **given)
    assert message.format(source) in str(caught.value)


@pytest.mark.parametrize(
    ("names", "column", "message"),
    [
        (["text", "z", "z"], pa.array(["x"]), "column 'z' occurs 2 times"),
        (["text", "z", "y"], pa.array([b"\xff"]), "column 'z' holds bytes, which JSON cannot"),
        (["text", "z", "y"], pa.array([[b"\xff"]]), "column 'z' holds bytes, which JSON cannot"),
    ],
)
def test_a_column_that_cannot_be_written_is_refused_before_the_run_is_loaded(
    tmp_path: Path, names: list[str], column: pa.Array, message: str
) -> None:
    source = tmp_path / "new.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["refund"]), column, column], names=names), source)
    with pytest.raises(InputError, match=message):
        assign_file(tmp_path / "no run", source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


def test_copies_of_a_text_are_read_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, read = Discovery.load(run), []
    encode = model.encoder_.encode
    monkeypatch.setattr(model.encoder_, "encode", lambda texts, advance: read.append(len(texts)) or encode(texts))
    features = model.transform(["refund", "parcel", "refund", "refund"])
    assert read == [2]
    assert np.array_equal(features[[0, 0]], features[[2, 3]])
    assert not np.array_equal(features[0], features[1])
    assert model.transform([]).shape == (0, features.shape[1])
