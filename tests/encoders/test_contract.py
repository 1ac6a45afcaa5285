"""The contract of every encoder, and a check that other packages use nothing beyond it."""

from __future__ import annotations

import ast
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch

import subtaxa
from subtaxa import Discovery
from subtaxa.encoders import registry
from subtaxa.encoders.base import Encoder, MaskedEncoder, TextEncoder
from subtaxa.encoders.registry import BUILT_IN, ENCODERS, load_encoder, load_saved, split_name
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SettingError
from subtaxa.runtime import plugins

TEXTS = ["my password", "parcel lost " * 40, "zzz 42", "refund", "i was charged twice please"]
LAYERS = ["all", "layers", 0, 1, 3]
SOURCE = Path(subtaxa.__file__).parent

every_encoder = pytest.mark.parametrize("kind", ENCODERS.names())


def load(kind: str, tiny_encoder: str, **options: object) -> Encoder:
    return ENCODERS.get(kind)(tiny_encoder, **options)


def text_encoders(tiny_encoder: str) -> dict[str, TextEncoder]:
    found: dict[str, TextEncoder] = {kind: load(kind, tiny_encoder) for kind in ENCODERS.names()}
    pytest.importorskip("onnxruntime")
    from subtaxa.encoders.onnx import OnnxEncoder, export_int8

    encoder = SentenceEncoder(tiny_encoder)
    return {**found, "onnx": OnnxEncoder(encoder, export_int8(encoder))}


def test_every_text_encoder_gives_unit_features_in_the_order_of_the_texts(tiny_encoder: str) -> None:
    for kind, encoder in text_encoders(tiny_encoder).items():
        assert isinstance(encoder, TextEncoder), kind
        done: list[int] = []
        features = encoder.encode(TEXTS, done.append)
        assert features.shape == (len(TEXTS), encoder.dimensions), kind
        assert sum(done) == len(TEXTS), kind
        torch.testing.assert_close(features.norm(dim=1), torch.ones(len(TEXTS)))
        backwards = encoder.encode(TEXTS[::-1])
        assert ((features * backwards.flip(0)).sum(1) > 0.98).all(), kind
        assert encoder.encode([]).shape == (0, encoder.dimensions), kind


@every_encoder
@pytest.mark.parametrize("layers", LAYERS)
def test_features_do_not_depend_on_freezing_or_caching(tiny_encoder: str, kind: str, layers: int | str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=layers)
    assert isinstance(encoder, Encoder)
    assert 0 <= encoder.n_frozen_layers <= encoder.n_layers
    expected = load(kind, tiny_encoder).encode(TEXTS)
    tokens = encoder.tokenise(TEXTS)
    assert len(tokens) == len(TEXTS)
    cached = encoder.cache_frozen(tokens)
    for found in (
        encoder.features(tokens),
        encoder.features(cached),
        encoder.features(cached, encoder.momentum_copy()),
    ):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@every_encoder
@pytest.mark.parametrize("layers", LAYERS)
def test_frozen_layers_run_without_dropout(tiny_encoder: str, kind: str, layers: int | str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=layers)
    tokens = encoder.tokenise(TEXTS)
    index = torch.arange(len(TEXTS))
    cached, _ = encoder.inputs(encoder.batch(encoder.cache_frozen(tokens), index))
    batch = encoder.batch(tokens, index)
    encoder.train()
    found, mask = encoder.inputs(batch)
    torch.testing.assert_close(found[mask], cached[mask], atol=1e-6, rtol=0)


@every_encoder
@pytest.mark.parametrize("layers", LAYERS)
def test_the_tower_has_dropout_while_training_and_only_then(tiny_encoder: str, kind: str, layers: int | str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=layers)
    batch = encoder.batch(encoder.tokenise(TEXTS), torch.arange(len(TEXTS)))
    encoder.eval()
    inputs = encoder.inputs(batch)
    assert torch.equal(encoder.tower(*inputs), encoder.tower(*inputs))
    encoder.train()
    assert torch.equal(encoder.tower(*inputs), encoder.tower(*inputs)) == (layers == 0)
    encoder.features(encoder.tokenise(TEXTS))
    assert encoder.tower.training


@every_encoder
@pytest.mark.parametrize("layers", LAYERS)
def test_the_tower_returns_two_layers_if_asked(tiny_encoder: str, kind: str, layers: int | str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=layers)
    batch = encoder.batch(encoder.tokenise(TEXTS), torch.arange(len(TEXTS)))
    encoder.eval()
    inputs = encoder.inputs(batch)
    shallow, deep = encoder.tower(*inputs, layer=1)
    torch.testing.assert_close(deep, encoder.tower(*inputs))
    assert shallow.shape == deep.shape == (len(TEXTS), encoder.dimensions)


@every_encoder
def test_a_momentum_copy_has_no_gradients_and_does_not_follow_the_tower(tiny_encoder: str, kind: str) -> None:
    encoder = load(kind, tiny_encoder)
    tokens, twin = encoder.tokenise(TEXTS), encoder.momentum_copy()
    before = encoder.features(tokens)
    with torch.no_grad():
        for weights in encoder.tower.parameters():
            weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(0)))
    assert not twin.training
    assert not any(weights.requires_grad for weights in twin.parameters())
    torch.testing.assert_close(encoder.features(tokens, twin), before)
    assert not torch.allclose(encoder.features(tokens), before, atol=1e-2)


@every_encoder
def test_a_head_starts_as_the_identity_and_is_trained(tiny_encoder: str, kind: str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=0)
    before, trained = encoder.encode(TEXTS), sum(p.requires_grad for p in encoder.tower.parameters())
    encoder.add_head()
    torch.testing.assert_close(encoder.encode(TEXTS), before)
    assert sum(p.requires_grad for p in encoder.tower.parameters()) == trained + 1


@every_encoder
def test_a_trained_encoder_is_saved_and_loaded(tiny_encoder: str, kind: str, tmp_path: Path) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=1)
    with torch.no_grad():
        for weights in encoder.tower.parameters():
            weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(0)))
    encoder.save(tmp_path / "model")
    loaded = load_saved(tmp_path / "model", kind)
    torch.testing.assert_close(loaded.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6, rtol=0)
    assert not [path for path in (tmp_path / "model").rglob("*") if path.suffix in (".bin", ".pt", ".pkl", ".py")]


@every_encoder
def test_what_masked_language_modelling_needs(tiny_encoder: str, kind: str) -> None:
    encoder = load(kind, tiny_encoder, trained_layers=1)
    if not isinstance(encoder, MaskedEncoder) or encoder.mask_id is None:
        pytest.skip(f"{kind} has no mask token")
    batch = encoder.batch(encoder.tokenise(TEXTS), torch.arange(len(TEXTS)))
    assert encoder.token_states(batch).shape == (*batch.input_ids.shape, encoder.token_dimensions)
    assert encoder.mask_id not in encoder.vocabulary
    assert encoder.word_embeddings.shape[0] > int(encoder.vocabulary.max())


class PluginEncoder(SentenceEncoder):
    """An encoder that a package might add. It has model names of its own."""

    def __init__(self, name: str, **options: object) -> None:
        super().__init__(name or "packaged", **options)  # type: ignore[arg-type]


def install(monkeypatch: pytest.MonkeyPatch, **found: str) -> None:
    """Pretend that installed packages add these encoders."""
    entries = [EntryPoint(name, value, ENCODERS.group) for name, value in found.items()]
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries if group == ENCODERS.group else [])


def test_an_encoder_of_an_installed_package_is_found_by_its_name(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, quick: dict[str, object], tmp_path: Path
) -> None:
    monkeypatch.setattr(registry, "PluginEncoder", PluginEncoder, raising=False)
    install(monkeypatch, plugin="subtaxa.encoders.registry:PluginEncoder")
    assert split_name(f"plugin:{tiny_encoder}") == ("plugin", tiny_encoder)
    assert split_name(tiny_encoder) == (BUILT_IN, tiny_encoder)
    assert isinstance(load_encoder(f"plugin:{tiny_encoder}"), PluginEncoder)
    texts, labels = ["refund please", "lost parcel", "my password", "new bill"] * 5, ["a", "b"] * 10
    options = {**quick, "encoder": f"plugin:{tiny_encoder}", "epochs": 1}
    model = Discovery(2, **options).fit(texts, labels)  # type: ignore[arg-type]
    assert isinstance(model.encoder_, PluginEncoder)
    loaded = Discovery.load(model.save(tmp_path / "run"))
    assert isinstance(loaded.encoder_, PluginEncoder)
    np.testing.assert_allclose(loaded.transform(texts), model.transform(texts), atol=1e-6)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere:Encoder", "the encoder 'mine' of 'nowhere:Encoder' cannot be loaded .ModuleNotFoundError"),
        ("builtins:dict", "the encoder 'mine' has no add_head, batch,"),
    ],
)
def test_a_broken_package_gives_one_sentence(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    install(monkeypatch, mine=value)
    if value.startswith("builtins"):
        monkeypatch.setattr(EntryPoint, "load", lambda self: lambda name, **options: {})
    with pytest.raises(SettingError, match=message):
        load_encoder("mine")


def test_a_package_cannot_use_the_name_of_another_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, **{BUILT_IN: "builtins:dict"})
    with pytest.raises(SettingError, match="the encoder name 'sentence-transformers' is used twice"):
        load_encoder("packaged")


def test_the_names_of_0_1_still_work(tiny_encoder: str) -> None:
    from subtaxa.encoders import sentence_encoder

    with pytest.warns(DeprecationWarning, match=r"subtaxa\.encoders\.base\.Encoder"):
        old = sentence_encoder.Encoder
    assert old is SentenceEncoder
    encoder = old(tiny_encoder, trained_layers=1)
    with pytest.warns(DeprecationWarning, match="n_layers"):
        assert encoder.depth == 3
    with pytest.warns(DeprecationWarning, match="n_frozen_layers"):
        assert encoder.cut == 2


def uses_of_sentence_transformers(code: str) -> list[str]:
    """Imports of sentence-transformers, and attributes of its pipeline."""
    found = []
    for node in ast.walk(ast.parse(code)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name.partition(".")[0] == "sentence_transformers"]
        if isinstance(node, ast.Attribute) and node.attr == "pipeline":
            found.append(ast.unparse(node))
    return found


def test_no_other_package_uses_sentence_transformers() -> None:
    outside = [path for path in SOURCE.rglob("*.py") if path.parent.name != "encoders"]
    assert len(outside) > 50
    found = {str(path): uses for path in outside if (uses := uses_of_sentence_transformers(path.read_text("utf-8")))}
    assert found == {}
    inside = (SOURCE / "encoders" / "sentence_encoder.py").read_text("utf-8")
    assert "self.pipeline" in uses_of_sentence_transformers(inside)  # The check itself works.
    assert "sentence_transformers" in uses_of_sentence_transformers("import sentence_transformers")
