"""The memory budget: a fit that is too large is made smaller or refused in one sentence, and no process dies."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.encoders import sentence_encoder as encoder_module
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SubtaxaError
from subtaxa.runtime import control_groups, free_memory
from subtaxa.runtime.free_memory import available
from subtaxa.runtime.progress import Progress
from subtaxa.training import memory_budget
from subtaxa.training.memory_budget import Sizes, fit_into_memory

TEXTS, LABELS, _ = planted_corpus(10)
# 20,000 short texts and the packaged encoder, on a GPU.
USUAL = Sizes(20_000, 384, 100, 280, 22_700_000, 6, 1536, 40, 64, 8192)


class Told(Progress):
    """Keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def free(monkeypatch: pytest.MonkeyPatch, count: float) -> None:
    monkeypatch.setattr(memory_budget, "available", lambda: int(count))


@pytest.mark.parametrize(
    "name", ["texts", "dimensions", "neighbours", "categories", "weights", "layers", "tokens", "batch", "chunk"]
)
def test_the_need_grows_with_everything(name: str) -> None:
    grown = replace(USUAL, **{name: 100 * getattr(USUAL, name)})
    assert grown.required_bytes > USUAL.required_bytes


def test_with_enough_memory_nothing_changes_and_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, USUAL.required_bytes)
    told = Told()
    assert fit_into_memory(USUAL, told) is USUAL
    assert told.lines == []


def test_when_it_is_short_texts_are_read_in_smaller_pieces_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = replace(USUAL, layers=0, weights=0)
    free(monkeypatch, frozen.required_bytes - 1)
    told = Told()
    smaller = fit_into_memory(frozen, told)
    assert smaller.chunk == USUAL.chunk // 2
    assert smaller == replace(frozen, chunk=smaller.chunk)
    assert len(told.lines) == 1
    assert re.fullmatch(r"memory is short \(\d\.\d GB free\): encoding only 4096 tokens at a time", told.lines[0])


def test_a_batch_that_is_too_large_is_refused_with_one_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    large = replace(USUAL, batch=1024, tokens=160)
    free(monkeypatch, 0.3 * large.required_bytes)
    with pytest.raises(SubtaxaError) as caught:
        fit_into_memory(large, Progress())
    found = re.fullmatch(
        r"20,000 texts and batches of 1024 require about (.*) GB of memory, but (.*) GB are free: "
        r"use --batch-size (\d+), or close other programs",
        str(caught.value),
    )
    assert found
    assert float(found[1]) > float(found[2])
    fitting = replace(large, batch=int(found[3]))
    assert fit_into_memory(fitting, Progress()).batch == fitting.batch
    with pytest.raises(SubtaxaError):
        fit_into_memory(replace(large, batch=2 * fitting.batch), Progress())


def test_too_many_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 1e9)
    with pytest.raises(SubtaxaError, match=r"use fewer texts or a smaller encoder, or close other programs"):
        fit_into_memory(replace(USUAL, texts=10**7), Progress())


def test_discover_refuses_before_it_reads_and_leaves_nothing(
    tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "planted.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    free(monkeypatch, 1e5)
    monkeypatch.setattr(SentenceEncoder, "cache_frozen", lambda *_: pytest.fail("it began to read"))
    arguments = ["discover", str(source), "--out", str(tmp_path / "run"), "--encoder", tiny_encoder, "--quiet"]
    error = refused(capsys, arguments)
    assert "60 texts and batches of" in error
    assert not (tmp_path / "run").exists()


def test_the_result_is_the_same_in_small_pieces_and_without_a_cache(
    quick: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = []
    real = SentenceEncoder.features

    def features(self: SentenceEncoder, *arguments: object, **named: object) -> object:
        chunks.append(self.chunk_tokens)
        return real(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SentenceEncoder, "features", features)
    monkeypatch.setattr(encoder_module, "CPU_BATCH_TOKENS", USUAL.chunk)
    usual = Discovery(6, **quick).fit(TEXTS, LABELS)
    job = []
    real_of = Sizes.of
    monkeypatch.setattr(Sizes, "of", lambda *given: job.append(real_of(*given)) or job[-1])
    monkeypatch.setattr(memory_budget, "available", lambda: replace(job[-1], chunk=512).required_bytes)
    monkeypatch.setattr(encoder_module, "available", free_memory.available)
    short = Discovery(6, **quick).fit(TEXTS, LABELS)
    assert max(chunks) == USUAL.chunk
    assert min(chunks) < USUAL.chunk
    assert (short.labels_ == usual.labels_).all()


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    folder = tmp_path / "memory" if version == 1 else tmp_path
    folder.mkdir(exist_ok=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    limit, used, cached = names if version == 1 else ("memory.max", "memory.current", "inactive_file")
    monkeypatch.setattr(control_groups, "CONTROL_GROUPS", tmp_path)
    before = available()
    (folder / limit).write_text("50000000\n")
    (folder / used).write_text("40000000\n")
    (folder / "memory.stat").write_text(f"anon 1\n{cached} 5000000\n")
    assert before > 15_000_000
    assert available() == 15_000_000
    (folder / used).write_text("60000000\n")
    assert available() == 0
    (folder / limit).write_text("max\n")
    assert available() > 15_000_000


def test_what_the_user_allowed_the_process_counts() -> None:
    code = "from subtaxa.runtime.free_memory import available; print(available())"
    limited = ["bash", "-c", 'ulimit -v 9000000; exec "$@"', "bash", sys.executable, "-c", code]
    found = subprocess.run(limited, capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) < 9_000_000 * 1024


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes")])
def test_memory_that_runs_out_all_the_same_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    from subtaxa.data import texts

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(texts, "read_texts", fail)
    said = refused(capsys, ["discover", "x.csv", "--out", str(tmp_path / "run"), "--quiet"])
    assert "there is not enough memory" in said
    assert "--batch-size" in said
