"""SentenceEncoder returns the features of sentence-transformers, with or without freezing, caching or copying."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.methods import prepared
from sentence_transformers import SentenceTransformer

from subtaxa.encoders import loading, sentence_encoder, tokenising
from subtaxa.encoders import tower as tower_module
from subtaxa.encoders.library_folder import library_folder
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import InputError, SettingError
from subtaxa.methods import method_class
from subtaxa.runtime.progress import Progress
from subtaxa.training.trainer import Trainer

TEXTS = ["my password", "parcel lost " * 40, "zzz 42", "refund", "i was charged twice please", "😀 שלום مرحبا", "\x07"]


def reference(folder: str) -> np.ndarray:
    found = SentenceTransformer(folder, device="cpu").encode(TEXTS, normalize_embeddings=True)
    return np.asarray(found)


@pytest.mark.parametrize("layers", ["all", "layers", 0, 1, 2, 3])
def test_features_are_those_of_sentence_transformers(tiny_encoder: str, layers: int | str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers)
    expected = reference(tiny_encoder)
    np.testing.assert_allclose(encoder.encode(TEXTS).numpy(), expected, atol=1e-6)
    tokens = encoder.cache_frozen(encoder.tokenise(TEXTS))
    assert (tokens.states is not None) == (layers in (0, 1, 2))
    np.testing.assert_allclose(encoder.features(tokens).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.features(tokens, encoder.momentum_copy()).numpy(), expected, atol=1e-6)


def test_packaged_encoder_is_all_minilm_and_gives_its_features() -> None:
    encoder = SentenceEncoder(trained_layers=2)
    found = encoder.encode(["How do I reset my password?", "I forgot my password", "Where is my parcel?"])
    expected = SentenceTransformer(str(loading.packaged_folder()), device="cpu").encode(
        ["How do I reset my password?", "I forgot my password", "Where is my parcel?"]
    )
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    assert found.shape == (3, 384)
    assert found[0] @ found[1] > 0.6 > 0.4 > found[0] @ found[2]


def test_only_the_upper_layers_are_trained(tiny_encoder: str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=1)
    trained = {n for n, p in encoder.pipeline[0].model.named_parameters() if p.requires_grad}
    assert trained
    assert all(name.startswith("encoder.layer.2.") for name in trained)


@pytest.mark.parametrize("layers", ["all", "layers", 3])
def test_word_embeddings_are_trained_only_with_all(tiny_encoder: str, layers: int | str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers)
    weights = encoder.pipeline[0].model.named_parameters()
    frozen = {name.partition(".")[0] for name, weight in weights if not weight.requires_grad}
    assert frozen - {"pooler"} == (set() if layers == "all" else {"embeddings"})


@pytest.mark.parametrize("layers", ["all", 2])
@pytest.mark.parametrize(("dropout", "same"), [(None, False), (0.0, True)])
def test_dropout_is_that_of_the_model_unless_it_is_set(
    tiny_encoder: str, layers: int | str, dropout: float | None, same: bool
) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers, dropout=dropout)
    encoder.train()
    batch = encoder.batch(encoder.tokenise(TEXTS), torch.arange(len(TEXTS)))
    inputs = encoder.inputs(batch)
    assert torch.equal(encoder.tower(*inputs), encoder.tower(*inputs)) == same


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("layers", [1, "all"])
def test_a_batch_encoded_in_parts_has_the_same_features_and_gradients(
    tiny_encoder: str, layers: int | str, layer: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers)
    tower, passes = encoder.tower.eval(), []
    inputs = encoder.inputs(encoder.tokenise([*TEXTS, *TEXTS]).batch(torch.arange(2 * len(TEXTS))))
    tower.transformer.register_forward_pre_hook(lambda *_: passes.append(1))

    def gradients() -> list[torch.Tensor]:
        tower.zero_grad()
        features = tower(*inputs, layer)
        joint = features if layer is None else torch.cat(features)
        joint.square().sum().backward()
        return [joint.detach(), *(weights.grad for weights in tower.parameters() if weights.grad is not None)]

    whole = gradients()
    assert len(passes) == 1
    monkeypatch.setattr(
        tower_module, "MAX_TENSOR_BYTES", 4 * inputs[0].shape[1] * tower.transformer.config.intermediate_size
    )
    for one, other in zip(whole, gradients(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert len(passes) > 1 + len(TEXTS)


@pytest.mark.parametrize("augment", ["replace", "drop", "shorten", "none"])
def test_training_is_the_same_whether_the_frozen_layers_are_cached_or_not(
    tiny_encoder: str, augment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache depends on free memory, which must not change the result."""
    found = []
    for share in (0.25, 0.0):
        monkeypatch.setattr(sentence_encoder, "CACHE_SHARE", share)
        settings, encoder, data, _ = prepared(
            tiny_encoder, method="dna", trained_layers=1, augment=augment, augment_tokens=6, rank_epochs=0
        )
        assert (data.tokens.states is None) == (share == 0)
        method = method_class("dna")(settings)
        history = Trainer(settings, 0, Progress()).run("", method, encoder, data, 1)
        found.append((encoder.features(data.tokens), history[0]["alignment"]))
    (cached, loss), (uncached, other_loss) = found
    assert other_loss == pytest.approx(loss, abs=1e-4)
    torch.testing.assert_close(uncached, cached, atol=1e-4, rtol=0)


def test_training_the_tower_changes_the_saved_model(tiny_encoder: str, tmp_path: Path) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=1)
    with torch.no_grad():
        for parameter in encoder.tower.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    encoder.save(tmp_path / "model")
    after = reference(str(tmp_path / "model"))
    np.testing.assert_allclose(after, encoder.encode(TEXTS).numpy(), atol=1e-6)
    assert not np.allclose(after, reference(tiny_encoder), atol=1e-2)
    unnormalised = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(unnormalised, axis=1), 1.0, atol=1e-5)


def test_pooling_can_be_forced(tiny_encoder: str) -> None:
    own, mean, cls = (SentenceEncoder(tiny_encoder, pooling=p).encode(TEXTS).numpy() for p in ("model", "mean", "cls"))
    np.testing.assert_array_equal(own, mean)
    assert not np.allclose(own, cls, atol=1e-2)
    states = SentenceTransformer(tiny_encoder, device="cpu").encode(TEXTS[0], output_value="token_embeddings")
    np.testing.assert_allclose(cls[0], (states[0] / states[0].norm()).numpy(), atol=1e-5)


def test_long_texts_are_cut_and_max_tokens_shortens_further(tiny_encoder: str) -> None:
    assert SentenceEncoder(tiny_encoder).tokenise(["parcel " * 100_000]).lengths.tolist() == [48]
    assert SentenceEncoder(tiny_encoder, max_tokens=5).tokenise(["parcel " * 9, "parcel"]).lengths.tolist() == [5, 3]


def test_too_many_layers_are_refused(tiny_encoder: str) -> None:
    with pytest.raises(SettingError, match="the encoder has 3 layers"):
        SentenceEncoder(tiny_encoder, trained_layers=4)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "vocab.txt", "1_Pooling/config.json"])
def test_every_packaged_file_is_checked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(loading.PACKAGED_SHA256, name, "0" * 64)
    loading.packaged_folder.cache_clear()
    with pytest.raises(InputError, match=f"{name}' is not the official all-MiniLM-L6-v2"):
        loading.packaged_folder()
    loading.packaged_folder.cache_clear()


def test_every_packaged_file_that_a_library_reads_has_a_digest() -> None:
    with library_folder(loading.packaged_folder()) as copy:
        read = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    assert read == set(loading.PACKAGED_SHA256)


def _strange(name: str, folder: Path) -> None:
    """Change a model folder in a way that an attacker might."""
    if name == "pickle":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    elif name == "code":
        (folder / "modeling_evil.py").write_text("raise SystemExit('evil code ran')")
    elif name == "auto_map":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "evil--x.Evil"}}))
    elif name == "module":
        modules = json.loads((folder / "modules.json").read_text())
        modules[1]["type"] = "os.system"
        (folder / "modules.json").write_text(json.dumps(modules))
    elif name == "escape":
        modules = json.loads((folder / "modules.json").read_text())
        modules[1]["path"] = "../../elsewhere"
        (folder / "modules.json").write_text(json.dumps(modules))
    elif name == "link":
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors").symlink_to("/etc/passwd")
    elif name == "torn":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    elif name == "json":
        (folder / "config.json").write_text("{")
    elif name == "empty":
        shutil.rmtree(folder)
        folder.mkdir()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pickle", "weights are pickled"),
        ("code", "is code or a pickle"),
        ("auto_map", "never runs code"),
        ("module", "only Transformer, Pooling, .* are loaded"),
        ("escape", "points outside the model folder"),
        ("link", "links to a file outside"),
        ("torn", "cannot load the encoder"),
        ("json", "not valid JSON"),
        ("empty", "no model.safetensors"),
    ],
)
def test_an_unsafe_model_folder_is_refused(tiny_encoder: str, tmp_path: Path, name: str, message: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_encoder, folder)
    _strange(name, folder)
    with pytest.raises(InputError, match=message):
        SentenceEncoder(str(folder))


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(InputError, match="'nowhere' does not exist"):
        SentenceEncoder("./nowhere")


def test_a_huge_text_is_cut_before_it_is_tokenised(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = SentenceEncoder(tiny_encoder), []
    huge = "  " + "refund owed " * 200_000
    few = encoder.tokenise([huge[:2000], "parcel"])
    real = type(encoder.pipeline.tokenizer).__call__

    def counted(self: object, texts: list[str], **options: object) -> object:
        seen.append(sum(map(len, texts)))
        return real(self, texts, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(encoder.pipeline.tokenizer), "__call__", counted)
    monkeypatch.setattr(tokenising, "CHARACTERS_AT_ONCE", 50_000)
    many = encoder.tokenise([huge, "parcel"] * 10)
    assert max(seen) <= 50_000
    assert len(many) == 20
    assert torch.equal(many.ids[: len(few.ids)], few.ids)


@pytest.mark.parametrize("layers", [0, 2, "all"])
def test_copies_of_a_text_have_the_same_features_to_the_last_bit(tiny_encoder: str, layers: int | str) -> None:
    texts = ["my card was charged twice", "hello", *["where is my refund"] * 150, "hello", "the flight is late today"]
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers)
    encoder.chunk_tokens = 32
    done: list[int] = []
    tokens = encoder.cache_frozen(encoder.tokenise(texts))
    features = encoder.features(tokens, advance=done.append)
    assert sum(done) == len(texts)
    assert (features[2:152] == features[2]).all()
    assert (features[1] == features[152]).all()
    each = torch.cat([encoder.encode([text]) for text in texts])
    assert torch.allclose(features, each, atol=1e-5)
    if tokens.states is not None:
        assert len(tokens.states) == int(tokens.lengths[[0, 1, 2, 153]].sum())
