"""Short names, pinned revisions and the measured table. Nothing is downloaded unless it is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
from helpers.architectures import make_tiny
from sentence_transformers import SentenceTransformer

from subtaxa.cli.main import main
from subtaxa.encoders import catalogue, loading
from subtaxa.encoders.catalogue import ENCODERS, known, measurements
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import InputError


def test_short_names_are_distinct_and_every_revision_is_a_commit() -> None:
    short = [encoder.short for encoder in ENCODERS if encoder.short]
    assert short == ["small", "multilingual", "large"]
    assert len({encoder.name for encoder in ENCODERS}) == len(ENCODERS)
    assert all(len(encoder.revision) == 40 and int(encoder.revision, 16) for encoder in ENCODERS)
    assert known("packaged") is known("small") is known("sentence-transformers/all-MiniLM-L6-v2")
    assert known("") is known("unheard") is None


def test_small_is_the_packaged_encoder() -> None:
    for name in ("packaged", "small", "sentence-transformers/all-MiniLM-L6-v2"):
        assert loading._folder(name) == loading.packaged_folder()


def test_a_known_encoder_is_downloaded_at_its_revision_and_gets_its_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = make_tiny(tmp_path, "xlm-roberta"), []

    def download(name: str, revision: str | None, **options: object) -> str:
        asked.append((name, revision))
        return folder

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    e5 = known("multilingual")
    assert e5 is not None
    found = SentenceEncoder("multilingual").encode(["refund owed"]).numpy()
    expected = SentenceTransformer(folder, device="cpu").encode(
        ["refund owed"], prompt="query: ", normalize_embeddings=True
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    SentenceEncoder("someone/model@abc123")
    SentenceEncoder("all-distilroberta-v1")
    assert asked == [
        (e5.name, e5.revision),
        ("someone/model", "abc123"),
        ("sentence-transformers/all-distilroberta-v1", None),
    ]


def test_an_encoder_in_the_cache_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_tiny(tmp_path, "mpnet")
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: f"{folder}/modules.json")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("it was downloaded"))
    assert SentenceEncoder("large").encode(["refund"]).shape == (1, 32)


def test_a_failed_download_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError("no route to the hub\nand more lines")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(InputError, match=r"^cannot load the encoder 'some/model' \(no route to the hub\): give a"):
        SentenceEncoder("some/model")


def test_a_folder_with_the_name_of_a_short_name_needs_a_path(
    tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "small")
    monkeypatch.chdir(tmp_path)
    assert loading._folder("small") == loading.packaged_folder()
    assert loading._folder("./small") == Path("small")


def test_the_table_lists_every_encoder_with_what_was_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("it was downloaded"))
    assert main(["encoders"]) == 0
    table = capsys.readouterr().out
    assert all((encoder.short or encoder.name) in table for encoder in ENCODERS)
    record = next(r for r in measurements() if (r["encoder"], r["dataset"]) == (catalogue.PACKAGED, "hwu64"))
    assert f"{record['acc']:.1f} {record['ari']:.1f} {record['nmi']:.1f}" in table
    assert all({"dataset", "encoder", "acc", "ari", "nmi", "command"} <= record.keys() for record in measurements())
