"""Strangers' model folders: the libraries see only listed keys and values, no path, no network and no prompt."""

from __future__ import annotations

import builtins
import json
import shutil
import socket
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from subtaxa.encoders import allowed_values, loading
from subtaxa.encoders.folder_check import check_folder
from subtaxa.encoders.library_folder import library_folder
from subtaxa.encoders.loading import load_pipeline
from subtaxa.errors import InputError

HIDDEN = "a line that nobody may read"


@pytest.fixture
def folder(tiny_encoder: str, tmp_path: Path) -> Path:
    """A model folder, and files beside it that it must not reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "outside" / "vocab.txt").write_text(HIDDEN)
    return Path(shutil.copytree(tiny_encoder, tmp_path / "model"))


@pytest.fixture(autouse=True)
def sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """Whatever asks a question, opens a socket or opens one of the files outside fails the test."""
    escapes: list[str] = []
    real = builtins.open

    def watched(file: Any, *arguments: Any, **named: Any) -> Any:
        if "outside" in str(file):
            escapes.append(str(file))
        return real(file, *arguments, **named)

    def refuse(*arguments: Any, **named: Any) -> Any:
        escapes.append(repr(arguments))
        raise OSError("the network is not there")

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(builtins, "input", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield escapes
    assert escapes == []


def put(folder: Path, name: str, **values: Any) -> None:
    """Set keys of a JSON file."""
    path = folder / name
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | values))


def outside(folder: Path) -> str:
    return str(folder.parent / "outside")


def code_beside(folder: Path) -> None:
    """A configuration that names another one, inside the folder, with code."""
    (folder / "inner").mkdir()
    put(folder / "inner", "config.json", model_type="evil", auto_map={"AutoConfig": "evil.Config"})
    put(folder, "config.json", base_model_name_or_path=str(folder / "inner"))


# Keys that make a library read, write or fetch something else. They are dropped.
DROPPED: dict[str, Callable[[Path], None]] = {
    "a base model on the hub": lambda f: put(f, "config.json", base_model_name_or_path="evil/model"),
    "a vocabulary elsewhere": lambda f: put(f, "tokenizer_config.json", vocab=outside(f) + "/vocab.txt"),
    "a vocabulary file elsewhere": lambda f: put(f, "tokenizer_config.json", vocab_file=outside(f) + "/vocab.txt"),
    "a tokenizer file elsewhere": lambda f: put(f, "tokenizer_config.json", tokenizer_file=outside(f) + "/vocab.txt"),
    "a tokenizer elsewhere": lambda f: put(f, "sentence_bert_config.json", tokenizer_name_or_path=outside(f)),
    "a variant elsewhere": lambda f: put(f, "sentence_bert_config.json", model_args={"variant": "x/../../outside"}),
    "another subfolder": lambda f: put(f, "sentence_bert_config.json", model_kwargs={"subfolder": "../outside"}),
    "a configuration elsewhere": lambda f: put(
        f, "sentence_bert_config.json", config_args={"_configuration_file": "../outside/config.json"}
    ),
    "an offload folder": lambda f: put(
        f, "sentence_bert_config.json", model_args={"offload_folder": outside(f) + "/new", "device_map": "auto"}
    ),
    "a gguf file": lambda f: put(f, "sentence_bert_config.json", model_args={"gguf_file": outside(f) + "/vocab.txt"}),
    "a quantiser": lambda f: put(f, "config.json", quantization_config={"quant_method": "evil"}),
    "requirements": lambda f: put(f, "config_sentence_transformers.json", requirements=["evil"]),
    "a processor": lambda f: put(f, "processor_config.json", processor_class="EvilProcessor"),
    "a chat template": lambda f: (f / "chat_template.jinja").write_text("{{ evil }}") and None,
    "settings of generation": lambda f: put(f, "generation_config.json", assistant_model=outside(f)),
}

# Listed keys with a value that is not listed. They are refused.
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "a task that loads a base model": ("sentence_bert_config.json", {"transformer_task": "retrieval"}),
    "an architecture with parts elsewhere": ("config.json", {"model_type": "encoder-decoder"}),
    "an activation that is a path": ("config.json", {"hidden_act": "../outside/evil"}),
    "a type that is a path": ("config.json", {"dtype": "/dev/zero"}),
    "a million layers": ("config.json", {"num_hidden_layers": 10**6}),
    "a width beyond all memory": ("config.json", {"hidden_size": 2**40}),
    "a tokenizer of its own": ("tokenizer_config.json", {"tokenizer_class": "RagTokenizer"}),
    "a token that is an object": ("tokenizer_config.json", {"pad_token": {"content": "x", "path": "/etc/passwd"}}),
    "no length": ("sentence_bert_config.json", {"max_seq_length": -5}),
    "a length beyond all numbers": ("sentence_bert_config.json", {"max_seq_length": 10**300}),
    "another kind of model": ("config_sentence_transformers.json", {"model_type": "CrossEncoder"}),
    "prompts that are lists": ("config_sentence_transformers.json", {"prompts": {"query": ["x"]}}),
    "pooling of its own": ("1_Pooling/config.json", {"pooling_mode": "evil"}),
    "a token map of lists": ("special_tokens_map.json", {"pad_token": ["x"]}),
}


@pytest.mark.parametrize("name", DROPPED)
def test_a_key_that_is_not_listed_never_reaches_a_library(folder: Path, name: str) -> None:
    before = {path.name for path in (folder.parent / "outside").iterdir()}
    DROPPED[name](folder)
    pipeline = load_pipeline(str(folder))
    assert pipeline.encode(["refund owed"]).shape == (1, 32)
    assert {path.name for path in (folder.parent / "outside").iterdir()} == before
    assert HIDDEN not in pipeline.tokenizer.get_vocab()


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_is_not_listed_is_refused(folder: Path, name: str) -> None:
    file, values = REFUSED[name]
    put(folder, file, **values)
    with pytest.raises(InputError, match=f"{file}' (sets|names|is not valid JSON)") as caught:
        load_pipeline(str(folder))
    assert "\n" not in str(caught.value)


def test_a_stranger_cannot_make_a_library_ask_whether_to_run_code(folder: Path) -> None:
    code_beside(folder)
    put(folder, "sentence_bert_config.json", transformer_task="retrieval")
    with pytest.raises(InputError, match="asks for its own code"):
        load_pipeline(str(folder))


def test_an_activation_of_a_dense_layer_is_one_of_a_list(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    kind = "sentence_transformers.models.Dense"
    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": kind})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "2_Dense").mkdir()
    put(folder / "2_Dense", "config.json", in_features=32, out_features=32, activation_function="torch.hub.load")
    with pytest.raises(InputError, match=r"sets 'activation_function' to 'torch.hub.load'"):
        load_pipeline(str(folder))


def test_a_link_into_any_folder_called_blobs_is_refused(folder: Path) -> None:
    (folder.parent / "blobs").mkdir()
    (folder / "vocab.txt").symlink_to((folder.parent / "outside" / "vocab.txt").rename(folder.parent / "blobs" / "x"))
    with pytest.raises(InputError, match="links to a file outside the model folder"):
        check_folder(folder)


def test_the_links_of_the_cache_of_the_hub_are_followed(folder: Path, tmp_path: Path) -> None:
    repository = tmp_path / "models--org--name"
    (repository / "blobs").mkdir(parents=True)
    snapshot = Path(shutil.copytree(folder, repository / "snapshots" / "0123"))
    (snapshot / "model.safetensors").rename(repository / "blobs" / "abc")
    (snapshot / "model.safetensors").symlink_to("../../blobs/abc")
    assert load_pipeline(str(snapshot)).encode(["refund"]).shape == (1, 32)


def test_a_vocabulary_without_a_token_for_unknown_words_is_refused(folder: Path) -> None:
    content = (folder / "tokenizer.json").read_text().replace('"[UNK]": 1', '"[NONE]": 1')
    content = content.replace('"content": "[UNK]"', '"content": "[NONE]"')
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"cannot load the encoder .*UNK"):
        load_pipeline(str(folder))


def test_a_token_that_the_model_does_not_know_is_refused(folder: Path) -> None:
    content = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(content | {"sep_token": "[STRANGER]"}))
    with pytest.raises(InputError, match=r"its tokenizer has token \d+, but the model knows \d+ tokens"):
        load_pipeline(str(folder))


def test_the_copy_holds_listed_files_only(folder: Path) -> None:
    for name in ("README.md", "optimizer.safetensors", "training_args.json", "x.jinja"):
        (folder / name).write_text("{}")
    with library_folder(folder) as copy:
        names = {path.name for path in copy.iterdir()}
    assert names == {
        "1_Pooling",
        "config.json",
        "config_sentence_transformers.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert not copy.exists()


@pytest.mark.parametrize("name", sorted(allowed_values.ARCHITECTURES))
def test_no_architecture_has_a_key_that_names_a_model_or_a_file(name: str) -> None:
    words = ("path", "file", "folder", "dir", "repo", "backbone", "auto_map", "code", "url", "quantization")
    keys = allowed_values.architecture(name)
    assert "model_type" in keys
    assert not [key for key in keys if any(word in key.split("_") for word in words)]


@pytest.mark.parametrize("value", ["/etc/passwd", "../x", "a/b", "C:\\x", "http://x", "", "x" * 41, "a b", {"a/b": 1}])
def test_no_plain_value_is_a_path(value: Any) -> None:
    assert not allowed_values.plain(value)
    assert not allowed_values.plain([value])


@pytest.mark.parametrize("added", [{"\0": 5}, {"a\x01": 5}, {"x": -1}, {"x" * 5000: 2**40}], ids=repr)
def test_added_tokens_that_make_a_tokenizer_panic_are_refused(folder: Path, added: dict[str, int]) -> None:
    (folder / "added_tokens.json").write_text(json.dumps(added))
    with pytest.raises(InputError, match=r"added_tokens.json' sets .* which subtaxa does not load") as caught:
        load_pipeline(str(folder))
    assert len(str(caught.value)) < 500


def test_a_panic_of_the_tokenizer_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Panics of Rust are no exceptions by their class."""
    panic = type("PanicException", (BaseException,), {})

    def raise_it(pipeline: Any) -> None:
        raise panic("AddedVocabulary bad split")

    monkeypatch.setattr(loading, "_check_tokenizer", raise_it)
    with pytest.raises(InputError, match=r"^cannot load the encoder '.*' \(AddedVocabulary bad split\): give a model"):
        load_pipeline(str(folder))


def test_a_refused_model_prints_no_warnings_of_torch(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 0}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(InputError, match="cannot load the encoder"):
            load_pipeline(str(folder))
    assert [str(warning.message) for warning in caught] == []


def test_a_model_without_some_of_its_weights_is_refused(folder: Path) -> None:
    """transformers draws missing weights at random, so that features would be different each time."""
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("layer.1.output.dense.weight"))
    save_file({n: w for n, w in weights.items() if n != name}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        InputError, match=r"1 of its weights are missing, such as encoder\.layer\.1\.output\.dense\.weight"
    ):
        load_pipeline(str(folder))
    whole = {n: w for n, w in weights.items() if not n.startswith("pooler.")}
    save_file(whole, folder / "model.safetensors", {"format": "pt"})
    assert load_pipeline(str(folder)).encode(["x"]).shape == (1, 32)
