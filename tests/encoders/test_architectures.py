"""Each architecture works as sentence-transformers uses it, or is refused in one sentence before any work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.architectures import ARCHITECTURES, LAYERS, LONGEST, WIDTH, make_static, make_tiny
from helpers.corpus import planted_corpus
from sentence_transformers import SentenceTransformer

from subtaxa import Discovery
from subtaxa.encoders.registry import load_saved
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import InputError, SettingError

TEXTS = ["my password", "parcel lost " * 40, "zzz 42", "refund", "i was charged twice please", "😀 שלום مرحبا"]
# Layers of these cannot be frozen without the others: T5's first layer has the positions, ALBERT's layers are one.
ALL_OR_NOTHING = {"albert", "t5"}
# These are fitted, saved and loaded, which takes a few seconds each.
FITTED = ["modernbert", "mpnet", "nomic_bert", "t5", "xlm-roberta"]

Build = Callable[..., str]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds each encoder once."""
    built: dict[str, str] = {}

    def tiny(kind: str) -> str:
        if kind not in built:
            built[kind] = make_tiny(tmp_path_factory.mktemp(kind), kind)
        return built[kind]

    return tiny


def reference(folder: str, texts: list[str] = TEXTS, **options: object) -> np.ndarray:
    found = SentenceTransformer(folder, device="cpu").encode(texts, normalize_embeddings=True, **options)
    return np.asarray(found)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_features_are_those_of_sentence_transformers_with_and_without_frozen_layers(build: Build, kind: str) -> None:
    folder = build(kind)
    expected = reference(folder)
    for layers in ("all", "layers", 0, 1, LAYERS):
        if layers == 1 and kind in ALL_OR_NOTHING:
            with pytest.raises(SettingError, match='use trained_layers "all", "layers" or 0'):
                SentenceEncoder(folder, trained_layers=layers)
            continue
        encoder = SentenceEncoder(folder, trained_layers=layers)
        tokens = encoder.cache_frozen(encoder.tokenise(TEXTS))
        assert (tokens.states is not None) == (layers in (0, 1))
        np.testing.assert_allclose(encoder.encode(TEXTS).numpy(), expected, atol=1e-6)
        np.testing.assert_allclose(encoder.features(tokens, encoder.momentum_copy()).numpy(), expected, atol=1e-6)
        assert encoder.word_embeddings.requires_grad == (layers == "all")
        assert any(weights.requires_grad for weights in encoder.tower.parameters()) == (layers != 0)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_the_export_with_8_bits_has_the_features_of_the_model(build: Build, kind: str) -> None:
    pytest.importorskip("onnxruntime")
    from subtaxa.encoders.onnx import OnnxEncoder, export_int8

    encoder = SentenceEncoder(build(kind))
    rounded = OnnxEncoder(encoder, export_int8(encoder))
    assert (rounded.encode(TEXTS) * encoder.encode(TEXTS)).sum(1).min() > 0.9


@pytest.mark.parametrize("kind", FITTED)
def test_a_run_is_trained_saved_and_loaded(build: Build, kind: str, tmp_path: Path) -> None:
    texts, labels, _ = planted_corpus(per_topic=8)
    options = {"encoder": build(kind), "epochs": 1, "batch_size": 32, "augment": "replace"}
    options |= {"trained_layers": "layers", "learning_rate": 5e-3}
    model = Discovery(6, **options).fit(texts, labels, checkpoint=tmp_path / "checkpoint")  # type: ignore[arg-type]
    assert list((tmp_path / "checkpoint").glob("*.safetensors"))
    folder = model.save(tmp_path / "run")
    assert np.array_equal(Discovery.load(folder).predict(texts), model.predict(texts))
    own = model.encoder_.encode(texts).numpy()
    np.testing.assert_allclose(reference(str(folder / "model"), texts), own, atol=1e-5)
    assert not np.allclose(own, reference(build(kind), texts), atol=1e-3)


def test_prompts_come_from_the_model_or_the_user_and_no_view_changes_them(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path, "xlm-roberta", prompts={"query": "query: ", "clustering": "topic: "})
    plain, own, named, given = (
        SentenceEncoder(folder, prompt=prompt) for prompt in ("", "model", "query", "search query: ")
    )
    np.testing.assert_allclose(plain.encode(TEXTS).numpy(), reference(folder), atol=1e-6)
    np.testing.assert_allclose(own.encode(TEXTS).numpy(), reference(folder, prompt="topic: "), atol=1e-6)
    np.testing.assert_allclose(named.encode(TEXTS).numpy(), reference(folder, prompt="query: "), atol=1e-6)
    np.testing.assert_allclose(given.encode(TEXTS).numpy(), reference(folder, prompt="search query: "), atol=1e-6)
    assert given.tokenise(TEXTS).lengths.max() == LONGEST
    for one, other in zip(plain.tokenise(TEXTS[2:5]).lengths, named.tokenise(TEXTS[2:5]).lengths, strict=True):
        assert other > one
    ordinary = [int(e.tokenise(["refund"]).ordinary.sum()) for e in (plain, named, given)]
    assert ordinary[0] == ordinary[1] == ordinary[2]
    given.save(tmp_path / "saved")  # The prompt is saved: SentenceTransformer applies it, too.
    np.testing.assert_allclose(reference(str(tmp_path / "saved")), given.encode(TEXTS).numpy(), atol=1e-6)
    again = load_saved(tmp_path / "saved", folder)
    torch.testing.assert_close(again.encode(TEXTS), given.encode(TEXTS), atol=1e-6, rtol=0)


def test_a_prompt_that_cannot_be_is_refused(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path, "mpnet", prompts={"query": "query: "})
    with pytest.raises(SettingError, match="the encoder has the prompts query; end a text"):
        SentenceEncoder(folder, prompt="clusterin")
    with pytest.raises(SettingError, match=r"fills all . tokens that the encoder reads"):
        SentenceEncoder(folder, prompt="query: ", max_tokens=4)
    pooling = Path(folder) / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"include_prompt": False}))
    assert SentenceEncoder(folder).encode(["refund"]).shape == (1, WIDTH)
    with pytest.raises(SettingError, match='use prompt ""'):
        SentenceEncoder(folder, prompt="query")


@pytest.mark.parametrize("layers", ["all", 1])
def test_the_first_dimensions_are_kept_and_saved(build: Build, tmp_path: Path, layers: int | str) -> None:
    folder = build("mpnet")
    encoder = SentenceEncoder(folder, dimensions=8, trained_layers=layers)
    expected = reference(folder, truncate_dim=8)
    np.testing.assert_allclose(encoder.encode(TEXTS).numpy(), expected, atol=1e-6)
    assert encoder.dimensions == 8
    encoder.add_head()
    encoder.save(tmp_path / "model")
    np.testing.assert_allclose(reference(str(tmp_path / "model")), expected, atol=1e-6)
    with pytest.raises(SettingError, match=f"the features of the encoder have {WIDTH}: use 1 to {WIDTH}"):
        SentenceEncoder(folder, dimensions=WIDTH + 1)


def test_cls_and_mean_pooling_of_another_architecture(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path, "modernbert", pooling="cls")
    own, cls, mean = (SentenceEncoder(folder, pooling=pooling).encode(TEXTS) for pooling in ("model", "cls", "mean"))
    np.testing.assert_allclose(own.numpy(), reference(folder), atol=1e-6)
    assert torch.equal(own, cls)
    assert not torch.allclose(own, mean, atol=1e-2)


@pytest.mark.parametrize("kind", ["mpnet", "xlm-roberta"])
def test_texts_are_cut_to_the_positions_that_the_model_has(build: Build, tmp_path: Path, kind: str) -> None:
    folder = Path(shutil.copytree(build(kind), tmp_path / "model"))
    for file in folder.glob("sentence_*_config.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"max_seq_length": 64}))
    encoder = SentenceEncoder(str(folder))  # 64 positions, of which the first two are not used
    assert encoder.tokenise(["parcel " * 99]).lengths.tolist() == [62]
    assert encoder.encode(["parcel " * 99]).shape == (1, WIDTH)


def test_weights_with_16_bits_are_trained_with_32(build: Build, tmp_path: Path) -> None:
    SentenceTransformer(build("bert"), device="cpu").half().save(str(tmp_path / "half"))
    encoder = SentenceEncoder(str(tmp_path / "half"))
    assert {weights.dtype for weights in encoder.tower.parameters()} == {torch.float32}
    np.testing.assert_allclose(encoder.encode(TEXTS).numpy(), reference(build("bert")), atol=1e-2)


@pytest.mark.parametrize("model2vec", [False, True])
def test_a_static_model_works_with_the_quick_preset(tmp_path: Path, model2vec: bool) -> None:
    folder = make_static(tmp_path, model2vec=model2vec)
    known = [text for text in TEXTS if text.isascii()]
    encoder = SentenceEncoder(folder, trained_layers=0)
    rounding = 1e-3 if model2vec else 1e-6  # The library computes with the 16 bits of model2vec's weights.
    np.testing.assert_allclose(encoder.encode(known).numpy(), reference(folder, known), atol=rounding)
    assert torch.isfinite(encoder.encode(["", "😀"])).all()
    texts, labels, _ = planted_corpus(per_topic=8)
    model = Discovery(6, preset="quick", encoder=folder, epochs=1).fit(texts, labels)
    run = model.save(tmp_path / "run")
    assert np.array_equal(Discovery.load(run).predict(texts), model.predict(texts))
    np.testing.assert_allclose(reference(str(run / "model"), texts), model.encoder_.encode(texts).numpy(), atol=1e-5)
    with pytest.raises(SettingError, match="no layers to train: use the preset quick"):
        Discovery(6, encoder=folder).fit(texts, labels)
    with pytest.raises(SettingError, match="leave out --backend onnx-int8"):
        Discovery.load(run, backend="onnx-int8").transform(texts)


def test_a_static_model_with_damaged_files_is_refused(tmp_path: Path) -> None:
    folder = Path(make_static(tmp_path, model2vec=True))
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([modules[0] | {"path": ".."}, *modules[1:]]))
    with pytest.raises(InputError, match="points outside the model folder"):
        SentenceEncoder(str(folder), trained_layers=0)
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="cannot load the encoder"):
        SentenceEncoder(str(folder), trained_layers=0)
