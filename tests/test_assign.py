"""Assigning a file: any size, any columns, each text read and cleaned once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.assign import assign_file
from subtaxa.runtime.progress import Progress, Step

TEXTS, LABELS, _ = planted_corpus(per_topic=20, seed=1)


@pytest.fixture(scope="module")
def run(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("assigning") / "run")  # type: ignore[arg-type]


class Noted(Progress):
    """Keeps every step that was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def _open(self, name: str, total: int) -> Step:
        self.steps.append(super()._open(name, total))
        return self.steps[-1]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_parts_make_the_same_file_and_one_step(
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
        target, progress = tmp_path / f"{rows}.csv", Noted()
        count = assign_file(run, source, target, progress=progress)
        steps = [step for step in progress.steps if step.name == "Assigning the texts"]
        assert [(step.total, step.done) for step in steps] == [(count, count)]
        assert count == len(TEXTS)
        written.append(pd.read_csv(target))
    pd.testing.assert_frame_equal(*written, atol=2e-4)
