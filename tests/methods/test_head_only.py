"""The quick preset: the encoder does not change, and the trained map is saved as a module of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.corpus import planted_corpus
from sentence_transformers import SentenceTransformer

from subtaxa import Discovery
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SettingError
from subtaxa.taxonomy.text_reader import TextReader

TEXTS, LABELS, _ = planted_corpus(per_topic=20, seed=1)


def test_the_head_begins_as_the_identity_and_is_all_that_is_trained(tiny_encoder: str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=0)
    before = encoder.encode(TEXTS[:5])
    encoder.add_head()
    assert torch.allclose(encoder.encode(TEXTS[:5]), before, atol=1e-6)
    assert [p.shape for p in encoder.tower.parameters() if p.requires_grad] == [torch.Size([32, 32])]


def test_a_quick_run_saves_the_head_with_the_model(tiny_encoder: str, tmp_path: Path) -> None:
    model = Discovery(6, preset="quick", encoder=tiny_encoder, epochs=3).fit(TEXTS, LABELS)
    assert model.settings_.method == "head-only"
    untrained = SentenceEncoder(tiny_encoder).encode(TEXTS).numpy()
    assert np.abs(model.features_ - untrained).max() > 1e-3  # The map was trained.
    folder = model.save(tmp_path / "run")
    bare = SentenceTransformer(str(folder / "model"), device="cpu")
    assert [type(module).__name__ for module in bare] == ["Transformer", "Pooling", "Dense", "Normalize"]
    np.testing.assert_allclose(bare.encode(TEXTS), model.features_, atol=1e-5)
    loaded = Discovery.load(folder)
    assert loaded.predict(TEXTS).tolist() == model.labels_.tolist()


def test_texts_are_read_once(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    lower = SentenceEncoder.frozen_states

    def counted(self: SentenceEncoder, batch: object) -> torch.Tensor:
        read.append(len(batch.index))  # type: ignore[attr-defined]
        return lower(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(SentenceEncoder, "frozen_states", counted)
    monkeypatch.setattr(TextReader, "embed", lambda self, phrases: np.eye(len(phrases), 32, dtype=np.float32))
    Discovery(6, preset="quick", encoder=tiny_encoder, epochs=2).fit(TEXTS, LABELS)
    assert sum(read) == len(TEXTS) + 2  # Two more texts test whether the encoder can be split.


def test_a_method_with_nothing_to_train_is_refused_in_one_sentence(quick: dict[str, object]) -> None:
    texts, labels, _ = planted_corpus(5)
    with pytest.raises(SettingError, match="has nothing to train with trained_layers 0: use the preset quick, or at"):
        Discovery(6, **{**quick, "trained_layers": 0}).fit(texts, labels)
    assert len(Discovery(6, **{**quick, "trained_layers": 0, "epochs": 0}).fit(texts, labels).taxonomy_) == 6
